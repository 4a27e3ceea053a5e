"""What the pages show, made true again: `make pages`.

Every `$ planner ...` of a console block is run at 80 columns, and what it prints now stands below it; `$ echo
$?` gets its exit code.  The picture of the README is drawn anew.  Look at the difference before you keep it.
"""

import contextlib
import io
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from cli.main import run
from tools.picture import PICTURE, picture

ROOT = Path(__file__).parents[1]
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COLUMNS = 80


def pages() -> list[Path]:
    """Every page that may show a dialogue."""
    return sorted(
        [
            *(ROOT / "docs").glob("*.md"),
            *(ROOT / "examples").glob("**/README.md"),
            ROOT / "benchmarks" / "README.md",
            ROOT / "README.md",
        ]
    )


def renewed(text: str) -> str:
    """The page with what its commands print now."""
    return _BLOCK.sub(lambda block: f"```console\n{''.join(_dialogue(block[1]))}```", text)


def _dialogue(block: str) -> Iterator[str]:
    code = 0
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command = part.partition("\n")[0]
        yield f"$ {command}\n"
        if command == "echo $?":
            yield f"{code}\n"
            continue
        code, told = printed(command)
        yield told


def printed(command: str) -> tuple[int, str]:
    """The exit code of a `planner` command, and all that it prints."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        code = run(shlex.split(command)[1:])
    return code, output.getvalue()


def main() -> None:
    """Renew all pages and the picture."""
    os.chdir(ROOT)
    os.environ["COLUMNS"] = str(COLUMNS)
    for page in pages():
        before = page.read_text()
        after = renewed(before)
        if after != before:
            page.write_text(after)
            print(page.relative_to(ROOT))
    PICTURE.write_text(picture())


if __name__ == "__main__":
    main()
