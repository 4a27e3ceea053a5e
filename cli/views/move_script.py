"""A MovePlan as a shell script of kubectl lines: wave by wave, and no further when something goes otherwise.

Evictions go through the eviction API, so budgets are honoured.  A replacement is known by its uid: one
that was not there before.  A pinned one gets its nodeSelector from its ReplicaSet or
ReplicationController, whose template has it for just so long; a Deployment above is paused meanwhile,
or it would roll out.  Where the controller would roll out by itself, all other nodes are cordoned
instead.  Whatever was changed is put back when the script ends, however it ends.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from planner.documents.move_plan import MovePlan, MoveStep, OnNodes

#: Controllers whose template may be changed for a moment without a rollout of their own.
_PATCHABLE = {"ReplicaSet", "ReplicationController"}

_HEAD = r"""#!/bin/sh
# Moves planned by `planner rebalance`; run it with the same kubectl context as the snapshot.
# KUBECTL and TIMEOUT (seconds for a replacement to be ready) may be set from outside.
set -eu

KUBECTL=${KUBECTL:-kubectl}
TIMEOUT=${TIMEOUT:-600}
PUT_BACK=''

put_back() {
    todo=$PUT_BACK
    PUT_BACK=''
    eval "$todo"
}
trap put_back EXIT
trap 'exit 130' INT TERM

CONTROLLER='.metadata.ownerReferences[?(@.controller==true)]'
OWNER="{$CONTROLLER.kind}/{$CONTROLLER.name}"

# uid, name and node of every pod of a controller: NAMESPACE KIND/NAME
pods_of() {
    line="$OWNER|{.metadata.uid}|{.metadata.name}|{.spec.nodeName}{'\n'}"
    "$KUBECTL" get pods -n "$1" -o "jsonpath={range .items[*]}$line{end}" |
        awk -F'|' -v owner="$2" '$1 == owner { print $2 "|" $3 "|" $4 }'
}

# Remember which pods of a controller are there: NAMESPACE KIND/NAME
remember() {
    KNOWN=$(pods_of "$1" "$2" | cut -d'|' -f1)
}

# The first pod that is not known: NAMESPACE KIND/NAME
newcomer() {
    pods_of "$1" "$2" | while IFS='|' read -r uid name node; do
        case "
$KNOWN
" in
        *"
$uid
"*) ;;
        *) if [ -n "$node" ]; then echo "$name|$node"; break; fi ;;
        esac
    done
}

# Evict a pod, unless it has left its node before: NAMESPACE POD NODE
evict() {
    now=$("$KUBECTL" get pod "$2" -n "$1" -o 'jsonpath={.spec.nodeName}')
    if [ "$now" != "$3" ]; then
        echo "$1/$2 is on ${now:-no node}, not on $3: the cluster has changed, plan again" >&2
        exit 1
    fi
    printf '{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"%s","namespace":"%s"}}' \
        "$2" "$1" |
        "$KUBECTL" create --raw "/api/v1/namespaces/$1/pods/$2/eviction" -f - >/dev/null
}

# Wait for the replacement, on its node and ready: NAMESPACE KIND/NAME NODE
await() {
    waited=0
    found=''
    while [ -z "$found" ]; do
        if [ "$waited" -ge "$TIMEOUT" ]; then
            echo "no replacement of $2 in $1 was scheduled within $TIMEOUT seconds" >&2
            exit 1
        fi
        sleep 1
        waited=$((waited + 1))
        found=$(newcomer "$1" "$2")
    done
    if [ "${found#*|}" != "$3" ]; then
        echo "$1/${found%|*} landed on ${found#*|}, planned was $3: plan again" >&2
        exit 1
    fi
    "$KUBECTL" wait pod "${found%|*}" -n "$1" --for=condition=Ready "--timeout=${TIMEOUT}s"
}

# Let new pods of a controller come to one node only: NAMESPACE KIND/NAME PATCH UNDO
pin() {
    deployment="{.metadata.ownerReferences[?(@.kind=='Deployment')].name}"
    above=$("$KUBECTL" get "$2" -n "$1" -o "jsonpath=$deployment")
    if [ -n "$above" ]; then
        paused=$("$KUBECTL" get deployment "$above" -n "$1" -o 'jsonpath={.spec.paused}')
        if [ "$paused" != true ]; then
            PUT_BACK="\"\$KUBECTL\" rollout resume deployment/$above -n $1"
            "$KUBECTL" rollout pause "deployment/$above" -n "$1"
        fi
    fi
    PUT_BACK="\"\$KUBECTL\" patch $2 -n $1 --type=strategic -p '$4'; $PUT_BACK"
    "$KUBECTL" patch "$2" -n "$1" --type=strategic -p "$3"
}

# Cordon every node but one, as long as a replacement is on its way: NODE
only_on() {
    open="{range .items[?(@.spec.unschedulable!=true)]}{.metadata.name} {end}"
    for other in $("$KUBECTL" get nodes -o "jsonpath=$open"); do
        if [ "$other" != "$1" ]; then
            PUT_BACK="\"\$KUBECTL\" uncordon $other; $PUT_BACK"
            "$KUBECTL" cordon "$other"
        fi
    done
}
"""


def lines(document: MovePlan) -> Iterator[str]:
    """The script."""
    yield from _HEAD.splitlines()
    for wave, steps in groupby(document.steps, key=lambda step: step.wave):
        moves = list(steps)
        yield ""
        yield f"echo {shlex.quote(f'wave {wave}: {len(moves)} to move')}"
        for step in moves:
            yield from _move(step)
    yield ""
    yield "echo done"


def _move(step: MoveStep) -> Iterator[str]:
    """One move: remember, pin if need be, evict, wait, put back."""
    namespace, name = step.pod.split("/", 1)
    place = _quoted(namespace, step.owner)
    yield f"# {step.why}"
    yield f"remember {place}"
    if step.pin is not None:
        yield _pinning(step, namespace, step.owner)
    yield f"evict {_quoted(namespace, name, step.source)}"
    yield f"await {place} {shlex.quote(step.node)}"
    if step.pin is not None:
        yield "put_back"


def _pinning(step: MoveStep, namespace: str, owner: str) -> str:
    one = isinstance(step.pin, OnNodes) and len(step.pin.nodes) == 1
    selector = {"kubernetes.io/hostname": step.node} if one else {}
    if owner.partition("/")[0] not in _PATCHABLE or not selector:
        return f"only_on {shlex.quote(step.node)}"
    undo = dict.fromkeys(selector)
    return f"pin {_quoted(namespace, owner, _patch(selector), _patch(undo))}"


def _patch(selector: Mapping[str, str | None]) -> str:
    return json.dumps({"spec": {"template": {"spec": {"nodeSelector": selector}}}}, separators=(",", ":"))


def _quoted(*words: str) -> str:
    parts: Sequence[str] = [shlex.quote(word) for word in words]
    return " ".join(parts)
