"""Notes on what running pods refer to and the files do not have: their nodes, their claims and volumes."""

from collections.abc import Iterator

from models.objects.pod import Pod
from models.snapshot import Snapshot
from models.words import counted, listed


def unread(found: Snapshot) -> Iterator[str]:
    """A note for each kind of object that is missing."""
    yield from _nodes(found)
    # Of a live cluster it is known which kinds were not listed, and told.
    if found.origin is None or not found.origin.kinds:
        yield from _volumes(found)


def _nodes(found: Snapshot) -> Iterator[str]:
    nodes = {node.name for node in found.nodes}
    lost = [pod for pod in found.pods if pod.node_name and pod.node_name not in nodes]
    if lost:
        pods = counted(len(lost), "pod")
        names = listed(f"{pod.key} on {pod.node_name}" for pod in lost)
        yield f"left out {pods} bound to nodes that were not read: {names}"


def _volumes(found: Snapshot) -> Iterator[str]:
    """`kubectl get all` prints none: of running pods all are there, or the files are an incomplete dump."""
    claims = {claim.key: claim.spec.volume_name for claim in found.persistent_volume_claims}
    running = (pod for pod in found.pods if pod.node_name and not pod.is_finished)
    used = list(dict.fromkeys(key for pod in running for key in _claims_of(pod)))
    missing: list[str] = []
    if not claims:
        missing = [f"PersistentVolumeClaim {key}" for key in used]
    elif not found.persistent_volumes:
        missing = [f"PersistentVolume {claims[key]}" for key in used if claims.get(key)]
    if missing:
        was = "was" if len(missing) == 1 else "were"
        yield (
            f"of running pods {counted(len(missing), 'volume')} {was} not read, so that pods made in their "
            f"place find no node here: {listed(missing)}; "
            "`kubectl get pvc,pv,storageclasses -A -o yaml` prints them"
        )


def _claims_of(pod: Pod) -> Iterator[str]:
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield f"{pod.namespace}/{volume.persistent_volume_claim.claim_name}"
