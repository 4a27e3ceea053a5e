"""Help as a person reads it: options by what they are for, no words of a programmer, and examples."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

from cli.output.forms.shell import command_lines
from cli.output.help_examples import EXAMPLES

#: Headings, and the parameters under them; what is on none is what the command is about.
_OWN = "Options"
_SECTIONS = {
    "Input": (
        "filename",
        "snapshot",
        "recursive",
        "context",
        "kubeconfig",
        "scheduler_config",
        "kubernetes",
    ),
    "Output": ("namespace", "all_namespaces", "output", "report", "metrics", "verbose", "strict", "help"),
    "What if": ("drain", "remove_node", "cordon", "add_nodes", "scale", "delete_pod"),
}
_SECTION_OF = {name: heading for heading, names in _SECTIONS.items() for name in names}
#: The limits of lines, however wide the screen is. On a narrow one names stand above what they mean.
_WIDEST, _NARROW, _NARROWEST = 80, 60, 40


def help_text(group: Any, words: Sequence[str]) -> str | None:
    """The help that a command line asks for, if it does; to parse it first would load a library."""
    if {"-h", "--help"}.isdisjoint(words):
        return None
    above = typer.Context(group, info_name="planner", **group.context_settings)
    name = next((word for word in words if not word.startswith("-")), None)
    found = group.commands.get(name)
    if found is None:
        return None if name else str(above.get_help())
    return str(typer.Context(found, info_name=name, parent=above).get_help())


def _screen_width() -> int:
    return max(_NARROWEST, min(shutil.get_terminal_size().columns, _WIDEST))


def _fit(ctx: Any) -> None:
    """Let the help be as narrow as the screen: by itself it is at least 50 wide."""
    ctx.terminal_width = _screen_width() - 2


def _write_pairs(formatter: Any, rows: Sequence[tuple[str, str]]) -> None:
    width = formatter.width
    formatter.write_dl(rows, col_max=30 if width > _NARROW else width // 3)


class Command(TyperCommand):
    """A command whose help is in sections, with examples at its end."""

    def get_help(self, ctx: Any) -> str:
        """The help, no wider than the screen."""
        _fit(ctx)
        return super().get_help(ctx)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What follows the command's name in the first line."""
        arguments = [param for param in self.get_params(ctx) if isinstance(param, TyperArgument)]
        return ["[OPTIONS]", *(argument.metavar or (argument.name or "").upper() for argument in arguments)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Every section that has something."""
        sections: dict[str, list[tuple[str, str]]] = {
            heading: [] for heading in ("Arguments", _OWN, *_SECTIONS)
        }
        for param in self.get_params(ctx):
            if not getattr(param, "hidden", False):
                sections[_section(param)].append((_spelling(param), _text(param)))
        for heading, rows in sections.items():
            if rows:
                with formatter.section(heading):
                    _write_pairs(formatter, rows)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """The examples."""
        examples = EXAMPLES.get(ctx.command.name or "", ())
        if examples:
            formatter.write_paragraph()
            formatter.write("Examples:\n")
        width = _screen_width()
        for command, purpose in examples:
            lines = textwrap.wrap(purpose, width, initial_indent="  # ", subsequent_indent="  # ")
            formatter.write("\n".join([*lines, *command_lines(command, width, "  "), ""]))


class Group(TyperGroup):
    """The planner itself, whose help has every command with its whole first sentence."""

    def get_help(self, ctx: Any) -> str:
        """The help, no wider than the screen."""
        _fit(ctx)
        return super().get_help(ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The options, then all commands that are not hidden."""
        rows = [(_spelling(param), _text(param)) for param in self.get_params(ctx)]
        with formatter.section(_OWN):
            _write_pairs(formatter, rows)
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """All commands that are not hidden."""
        rows = [
            (name, (command.help or "").partition("\n\n")[0].replace("\n", " "))
            for name, command in self.commands.items()
            if not command.hidden
        ]
        with formatter.section("Commands"):
            _write_pairs(formatter, rows)


def _section(param: Any) -> str:
    return "Arguments" if isinstance(param, TyperArgument) else _SECTION_OF.get(param.name, _OWN)


def _spelling(param: Any) -> str:
    if isinstance(param, TyperArgument):
        return str(param.metavar or param.name)
    names = sorted(param.opts, key=lambda name: name.startswith("--"))
    value = "" if getattr(param, "is_flag", False) or not param.metavar else f" {param.metavar}"
    return f"{', '.join(names)}{value}"


def _text(param: Any) -> str:
    """The explanation, and what holds where nothing is said."""
    default = param.default
    if callable(default) or default in (None, False, (), []) or getattr(param, "is_flag", False):
        return str(param.help or "")
    said = f"{default:g}" if isinstance(default, float) else str(default)
    return f"{param.help} Default: {said}."
