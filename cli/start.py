"""The entry points: Ctrl-C before the program has been read ends it at once, and not with a traceback."""

import os
import signal


def main() -> None:
    """The entry point of `planner` and `kubectl-planner`."""
    _read_program()
    from cli.main import main as answer

    answer()


def complete() -> None:
    """The entry point of `kubectl_complete-planner`."""
    _read_program()
    from cli.main import complete as tell

    tell()


def _read_program() -> None:
    handler = signal.getsignal(signal.SIGINT)
    # A shell that starts a program in the background has it ignore interrupts, and so it should.
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # There is no plugin for pydantic here, and it would look for one among all packages that are installed.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    import cli.main  # noqa: F401 - read now, while an interrupt has nothing to tell

    signal.signal(signal.SIGINT, handler)
