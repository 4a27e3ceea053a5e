"""A clock for parts of scripts: time passes while they sleep, five times as fast with `export PACE=5`."""

from __future__ import annotations

from pathlib import Path

_SLEEP = """#!/bin/sh
case $1 in *.*) exit 1 ;; esac # as not every sleep takes fractions
read now <"$FOLDER/now"
echo "$((now + $1 * ${PACE:-1}))" >"$FOLDER/now"
"""
_DATE = """#!/bin/sh
read now <"$FOLDER/now"
case $* in +%s) echo "$now" ;; *) echo 2026-01-02T03:04:05Z ;; esac
"""


def put_clock(folder: Path, meanwhile: str = "") -> None:
    """Programs `sleep` and `date`, for a script with `FOLDER` in its environment; what happens meanwhile."""
    (folder / "now").write_text("1000\n")
    for name, text in (("sleep", _SLEEP + meanwhile), ("date", _DATE)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
