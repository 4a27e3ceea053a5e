"""Files as kubectl printed them -> one List that can be shared."""

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO

from models.collector import collector_paused
from models.sharing.kept_texts import each_kept, text_of
from models.sharing.names import NewNames, OldNames
from models.sharing.renamed import renamed
from models.snapshot import KUBE_SYSTEM

_ORIGIN = b'{"kind":"SnapshotOrigin"'
_NO_ORIGIN = _ORIGIN + b',"apiVersion":"planner/v1alpha1"}'
_BEGIN, _END = b'{"kind":"List","apiVersion":"v1","items":[\n', b"\n]}\n"


def shared(
    files: Iterable[tuple[str, bytes | BinaryIO]], *, anonymize: bool = False, kubernetes: str | None = None
) -> bytes:
    """A List of what the planner reads of the files, an object a line; under other names if wanted.

    With `kubernetes` it says as which release it is to be decided.
    """
    texts: list[bytes] = []
    with collector_paused():
        for name, content in files:
            file = io.BytesIO(content) if isinstance(content, bytes) else content
            each_kept(file, name, texts.append)
        if kubernetes is not None:
            texts = _decided_as(kubernetes, texts)
        return _BEGIN + b",\n".join(_anonymous(texts) if anonymize else texts) + _END


def _decided_as(kubernetes: str, texts: Sequence[bytes]) -> list[bytes]:
    """The objects, the first of which names the release."""
    origins = [json.loads(text) for text in texts if text.startswith(_ORIGIN)]
    known = origins[0] if origins else json.loads(next(_identity(texts), _NO_ORIGIN))
    others = (text for text in texts if not text.startswith(_ORIGIN))
    return [text_of({**known, "kubernetes": kubernetes}), *others]


def _anonymous(texts: Sequence[bytes]) -> Iterator[bytes]:
    old = OldNames()
    for text in texts:
        renamed(json.loads(text), old)
    new = NewNames(old.parts)
    yield from _identity(texts)
    for text in texts:
        yield text_of(renamed(json.loads(text), new))


def _identity(texts: Sequence[bytes]) -> Iterator[bytes]:
    """Which cluster it is, where only the uid of kube-system, which gets another name, has said so."""
    uid = ""
    for text in texts:
        if text.startswith(_ORIGIN):
            return
        if text.startswith(b'{"kind":"Namespace"'):
            metadata = json.loads(text)["metadata"]
            uid = metadata.get("uid", "") if metadata.get("name") == KUBE_SYSTEM else uid
    if uid:
        yield text_of({"kind": "SnapshotOrigin", "apiVersion": "planner/v1alpha1", "cluster": uid})
