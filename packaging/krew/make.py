"""The archive that krew installs, and the manifest that names it: `python packaging/krew/make.py DIST URI`.

DIST is a folder with the wheel; URI is where the archive will be. The same sources give the same bytes.
"""

import gzip
import hashlib
import io
import json
import sys
import tarfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ARCHIVE = "kubectl-planner.tar.gz"


def main() -> None:
    """Write both into DIST."""
    folder, uri = Path(sys.argv[1]), sys.argv[2]
    archive = pack(folder)
    (folder / ARCHIVE).write_bytes(archive)
    (folder / "planner.yaml").write_text(manifest(archive, uri))


def pack(folder: Path) -> bytes:
    """The archive: the wheel, the versions that it was tested with, and the command that sets it up."""
    (wheel,) = folder.glob("*.whl")
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        for path in (wheel, ROOT / "constraints.txt", ROOT / "packaging/krew/kubectl-planner"):
            entry = tarfile.TarInfo(path.name)
            entry.size = path.stat().st_size
            entry.mode = 0o755 if path.suffix == "" else 0o644
            archive.addfile(entry, io.BytesIO(path.read_bytes()))
    return gzip.compress(plain.getvalue(), mtime=0)


def manifest(archive: bytes, uri: str) -> str:
    """The manifest for krew's index, as JSON, which is YAML."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    system = {"key": "os", "operator": "In", "values": ["linux", "darwin"]}
    plugin = {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "planner"},
        "spec": {
            "version": f"v{project['version']}",
            "shortDescription": "Check, plan and repair where pods run",
            "description": project["description"] + ".\nIt only reads the cluster.",
            "caveats": "Needs Python 3.11 or newer; the first call sets up an environment of its own.",
            "platforms": [
                {
                    "selector": {"matchExpressions": [system]},
                    "uri": uri,
                    "sha256": hashlib.sha256(archive).hexdigest(),
                    "bin": "kubectl-planner",
                }
            ],
        },
    }
    return json.dumps(plugin, indent=2) + "\n"


if __name__ == "__main__":
    main()
