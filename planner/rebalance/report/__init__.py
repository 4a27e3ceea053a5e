"""A plan of moves in words: the document, reasons, what stays broken and what would help."""
