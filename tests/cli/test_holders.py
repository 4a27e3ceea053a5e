"""How scripts tell whether another one is at work."""

import os
import re
import shutil
import subprocess
from importlib.resources import files

import pytest


def test_containers_of_one_host_name_are_told_apart() -> None:
    """What went wrong: a script in one took what another was at work on for left by a killed one."""
    part = str(files("cli.output.views.scripts").joinpath("holders.sh"))
    shell = ["sh", "-c", '. "$0"; echo "$HERE"', part]
    if shutil.which("unshare") is None:
        pytest.skip("no unshare")
    here, again, inside = (
        subprocess.run([*words, *shell], capture_output=True, text=True, check=False)
        for words in ((), (), ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"))
    )
    assert here.stdout == again.stdout
    name = re.sub(r"[^A-Za-z0-9:._-]", "", os.uname().nodename)
    assert re.fullmatch(rf"{re.escape(name)}:\d+\n", here.stdout)
    if inside.returncode:
        pytest.skip(f"no process list of its own: {inside.stderr}")
    assert inside.stdout.partition(":")[0] == here.stdout.partition(":")[0]
    assert inside.stdout != here.stdout
