"""Where a snapshot comes from: an object of the planner's own, the first of the List that it writes."""

from models.objects.base import KubeObject


class SnapshotOrigin(KubeObject):
    """The live cluster that was read, as its reader's kubectl knew it; empty where it could not be told.

    `cluster` is the uid of the namespace kube-system, which tells clusters apart.  `kubernetes` is the
    release to decide as, where its reader asked for another one than the server's.  `kinds` are
    those of which it was given all objects, in the plural and without their group; `remarks` say what it was
    not given.
    """

    cluster: str = ""
    context: str = ""
    kubeconfig: str = ""
    server_version: str = ""
    kubernetes: str = ""
    kinds: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
