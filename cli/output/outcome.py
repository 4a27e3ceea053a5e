"""How a command ends: its exit code, and what standard error says about it."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, TextIO

import typer

#: The notes of the command that runs.
_notes: list[str] = []
_CAPTURED: ContextVar[Captured | None] = ContextVar("captured", default=None)
#: So many problems of the input are told; a folder with a snapshot and its copy has one for every pod.
_MOST_PROBLEMS = 20


class Exit(IntEnum):
    """The exit codes of every command."""

    WELL = 0
    FINDINGS = 1
    BAD_INPUT = 2
    NO_ANSWER = 3
    INTERNAL_ERROR = 4
    INTERRUPTED = 130


def ending(command: Callable[[], int | None], *, verbose: bool) -> int:
    """Run a command to its exit code; whatever it raises becomes a line on standard error."""
    _notes.clear()
    try:
        code = command() or Exit.WELL
    except (KeyboardInterrupt, typer.Abort):
        code = Exit.INTERRUPTED
    except MemoryError:
        if _CAPTURED.get() is not None:
            # A worker answers for its own memory.
            raise
        say("no answer: the memory is not enough")
        return Exit.NO_ANSWER
    except Exception as error:
        if not _is_interrupt(error):
            return _failure(error, verbose)
        code = Exit.INTERRUPTED
    if code == Exit.INTERRUPTED:
        say("interrupted")
    return code


@dataclass(slots=True)
class Captured:
    """What a command would have written, and said beside it."""

    written: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)


@contextmanager
def captured() -> Iterator[Captured]:
    """Nothing is written inside: it is kept."""
    found = Captured()
    token = _CAPTURED.set(found)
    try:
        yield found
    finally:
        _CAPTURED.reset(token)


def write_lines(lines: Iterable[str]) -> None:
    """Lines of a document, on standard output."""
    found = _CAPTURED.get()
    if found is not None:
        found.written.extend(lines)
        return
    with standard_output() as output:
        for line in lines:
            output.write(f"{line}\n")


@contextmanager
def standard_output() -> Iterator[TextIO]:
    """Standard output, and all that was written is there at the end; an InputError where it cannot be."""
    try:
        yield sys.stdout
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        from models.errors import InputError, system_reason

        raise InputError([f"standard output: {system_reason(error)}"]) from None


@contextmanager
def writing(option: str, file: str) -> Iterator[None]:
    """An InputError where the file that an option names has no name, or cannot be written."""
    from models.errors import InputError, system_reason

    if not file:
        raise InputError([f"{option}: the name of a file is missing"])
    try:
        yield
    except OSError as error:
        raise InputError([f"{option} {file}: {system_reason(error)}"]) from None


def say(*lines: str) -> None:
    """Lines for the person at the terminal, beside the document; what is too wide goes on below."""
    if (found := _CAPTURED.get()) is not None:
        found.said.extend(lines)
        return
    from cli.output.screen import width_of
    from cli.output.table import hanging

    width = width_of(sys.stderr)
    for line in lines:
        for part in line.split("\n"):
            print(*hanging(part, width), sep="\n", file=sys.stderr)


def say_notes(notes: Iterable[str]) -> None:
    """Remarks that belong to a document."""
    lines = [f"note: {note}" for note in notes]
    _notes.extend(lines)
    say(*lines)


def notes_said() -> bool:
    """Whether this command had anything to remark."""
    return bool(_notes)


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether it is Ctrl-C, or what Python has made of it, as it does where a class is being made."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _failure(error: Exception, verbose: bool) -> int:
    if _is_no_answer(error):
        say(f"no answer: {error}")
        return Exit.NO_ANSWER
    problems = _usage_problem(error) or _input_problems(error)
    if problems:
        shown = problems if verbose else problems[:_MOST_PROBLEMS]
        left = len(problems) - len(shown)
        say(*(f"error: {problem}" for problem in shown))
        if left:
            say(f"error: and {left} more (-v shows all)")
        return Exit.BAD_INPUT
    if verbose:
        traceback.print_exception(error)
    found = " ".join(f"{type(error).__name__}: {error}".split())
    more = "" if verbose else "; -v shows where"
    say(f"internal error: {found} (please report it with the command and its input{more})")
    return Exit.INTERNAL_ERROR


def _usage_problem(error: Any) -> tuple[str, ...]:
    """What typer has to say; its class has moved between releases, its method has not."""
    if not hasattr(error, "format_message"):
        return ()
    from pydantic import ValidationError

    if isinstance(error.__cause__, ValidationError):
        from models.reading.problems import problems_in

        # In the words of pydantic it would not say what was found.
        error.message = "; ".join(problem for _, problem in problems_in(error.__cause__))
    plain = " ".join(str(error.format_message()).split()).removesuffix(".")
    return (f"{plain} (--help shows how)",)


def _is_no_answer(error: Exception) -> bool:
    """Whether a limit ended a search; the code that raised it has imported the planner already."""
    module = sys.modules.get("models.errors")
    return module is not None and isinstance(error, module.NoAnswer)


def _input_problems(error: Exception) -> tuple[str, ...]:
    from models.errors import InputError

    return error.problems if isinstance(error, InputError) else ()
