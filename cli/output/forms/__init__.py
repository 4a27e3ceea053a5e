"""The forms that the sections of a view take: text on a screen, Markdown, YAML."""
