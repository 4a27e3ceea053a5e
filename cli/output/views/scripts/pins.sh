# ---- Pins: where new pods of a controller may go, for a while ---------------------------------
#
# The template of a ReplicaSet or ReplicationController is narrowed; a Deployment above it is paused
# meanwhile, or it would roll out.  Before anything else the controller gets annotations that say how
# to undo that, so that it can be undone after a KILL:
#   planner/pinned-for  the pod whose replacement is meant
#   planner/affinity    spec.template.spec.affinity as it was, as JSON
#   planner/resume      the Deployment that was paused for it, if it was not paused before
#   planner/by          the script that did it

REVISION='.metadata.annotations.deployment\.kubernetes\.io/revision'

PINNED='' # what has to be put back: NAMESPACE|KIND/NAME, one a line

is_pinned() {
    printf '%s\n' "$PINNED" | grep -qxF "$1|$2"
}

forget_pin() {
    PINNED=$(printf '%s' "$PINNED" | grep -vxF "$1|$2")
    PINNED=$PINNED${PINNED:+
}
}

# Waits until its controller has seen an object as it is now: NAMESPACE KIND/NAME.  One that is late would roll a
# Deployment out that is paused by now, or make a pod without the pin.
await_seen() {
    since=$(date +%s)
    until is_seen "$@"; do
        [ "$(($(date +%s) - since))" -lt 10 ] || return 1
        sleep 0.2 2>/dev/null || sleep 1
    done
}
is_seen() {
    found=$(k get "$2" -n "$1" -o 'jsonpath={.metadata.generation}|{.status.observedGeneration}' 2>/dev/null) &&
        [ "${found%%\|*}" = "${found#*\|}" ]
}

# One pod's replacement goes where it shall: NAMESPACE KIND/NAME POD PATCH.  False when the controller, or the
# Deployment above it, cannot be read just now, or has just been changed: one that is not paused would roll out.
pin() {
    if is_pinned "$1" "$2"; then return 0; fi
    if [ -n "$DRY_RUN" ]; then
        patch "$2" -n "$1" --type=json -p "$4" >/dev/null || stop "$2 in $1 cannot be pinned; nothing was changed"
        return 0
    fi
    line="{.metadata.ownerReferences[?(@.kind=='Deployment')].name}|{.metadata.annotations.planner/by}"
    line="$line|{.metadata.resourceVersion}|{$REVISION}|{.spec.template.spec.affinity}"
    found=$(k get "$2" -n "$1" -o "jsonpath=$line") || return 1
    resume=${found%%\|*} found=${found#*\|}
    holder=${found%%\|*} found=${found#*\|}
    version=${found%%\|*} found=${found#*\|}
    revision=${found%%\|*} was=${found#*\|}
    ! is_at_work "$holder" || stop "$2 in $1 has been changed by $(named_holder "$holder")"
    [ -z "$resume" ] || look_at_deployment "$1" "$resume" "$revision" || return 1
    PINNED="$PINNED$1|$2
"
    quoted=$(printf '%s' "${was:-null}" | sed 's/[\\"]/\\&/g')
    mark="\"planner/pinned-for\":\"$3\",\"planner/affinity\":\"$quoted\",\"planner/resume\":\"$resume\""
    mark="\"resourceVersion\":\"$version\",\"annotations\":{$mark,\"planner/by\":\"$HOLDER\"}"
    answer=$(k patch "$2" -n "$1" --type=merge -p "{\"metadata\":{$mark}}" 2>&1) || {
        case $answer in *"(Conflict)"*)
            forget_pin "$1" "$2"
            return 1
            ;;
        esac
        stop "$2 in $1 could not be marked: $(one_line "$answer")"
    }
    if [ -n "$resume" ]; then
        k patch deployment "$resume" -n "$1" --type=json -p "[{\"op\":\"test\",\"path\":\"/metadata/generation\",
            \"value\":$generation},{\"op\":\"add\",\"path\":\"/spec/paused\",\"value\":true}]" >/dev/null ||
            stop "deployment $resume in $1 could not be paused as it was"
        await_seen "$1" "deployment/$resume" || stop "the controller of deployment $resume in $1 does not see that it is paused"
    fi
    k patch "$2" -n "$1" --type=json -p "$4" >/dev/null || stop "$2 in $1 could not be pinned"
    await_seen "$1" "$2" || stop "the controller of $2 in $1 does not see its pin"
    say "$1: new pods of $2 are pinned until the replacement of $3 has landed"
}

# Sets `resume` to nothing where a Deployment is paused by another user, and `generation`; one that rolls out is not
# paused in the middle of that: NAMESPACE NAME REVISION-OF-THE-REPLICASET.  False while its controller has not seen it.
look_at_deployment() {
    line="{.spec.paused}|{.metadata.generation}|{.status.observedGeneration}|{$REVISION}"
    found=$(k get deployment "$2" -n "$1" -o "jsonpath=$line") || return 1
    generation=${found#*\|} observed=${generation#*\|} generation=${generation%%\|*}
    if [ "${found%%\|*}" = true ]; then
        resume=''
    elif [ "${observed%%\|*}" != "$generation" ]; then
        TROUBLE="deployment $2 in $1 has been changed, which its controller has not seen yet"
        return 1
    elif [ "${observed#*\|}" != "$3" ]; then
        stop "deployment $2 in $1 has begun to roll out"
    fi
}

# The pin comes off again, as the annotations say: NAMESPACE KIND/NAME
unpin() {
    notes='{.metadata.annotations.planner/by}|{.metadata.annotations.planner/resume}|{.metadata.annotations.planner/affinity}'
    found=$(k get "$2" -n "$1" --ignore-not-found -o "jsonpath=$notes") || return 1
    holder=${found%%\|*} found=${found#*\|}
    resume=${found%%\|*} was=${found#*\|}
    if [ -n "$was" ] && ! is_at_work "$holder"; then
        k patch "$2" -n "$1" --type=json \
            -p "[{\"op\":\"add\",\"path\":\"/spec/template/spec/affinity\",\"value\":$was}]" >/dev/null || return 1
        if [ -n "$resume" ]; then
            await_seen "$1" "$2" || : # if it is away for longer, nothing is to stay paused for that
            answer=$(k patch deployment "$resume" -n "$1" --type=merge -p '{"spec":{"paused":null}}' 2>&1) ||
                case $answer in *"(NotFound)"*) ;; *) return 1 ;; esac # deleted, and its ReplicaSet left without it
        fi
        gone='"planner/pinned-for":null,"planner/affinity":null,"planner/resume":null,"planner/by":null'
        k patch "$2" -n "$1" --type=merge -p "{\"metadata\":{\"annotations\":{$gone}}}" >/dev/null || return 1
    fi
    forget_pin "$1" "$2"
}

# Deployments that were paused for a pin, and that another user has resumed: they roll out.
tell_resumed() {
    for item in $PINNED; do
        resume=$(k get "${item#*\|}" -n "${item%%\|*}" -o 'jsonpath={.metadata.annotations.planner/resume}' 2>/dev/null) || continue
        [ -n "$resume" ] || continue
        paused=$(k get deployment "$resume" -n "${item%%\|*}" -o 'jsonpath=is{.spec.paused}' 2>/dev/null) || continue
        [ "$paused" = istrue ] || complain "  deployment $resume in ${item%%\|*} was paused for this, and another user has resumed it: it rolls out"
    done
}

# Pods that were made with the pin and found no node would wait for ever: NAMESPACE KIND/NAME [HOW-MANY]
let_go_of_waiting() {
    line="{.metadata.ownerReferences[?(@.controller==true)].kind}/{.metadata.ownerReferences[?(@.controller==true)].name}"
    line="$line|{.spec.nodeName}|{.metadata.name}|{.metadata.uid}|{.metadata.resourceVersion}"
    k get pods -n "$1" -o "jsonpath={range .items[*]}$line{'\n'}{end}" |
        awk -F'|' -v owner="$2" '$1 == owner && $2 == "" { print $3, $4, $5 }' | sed "${3:-9999}q" |
        while read -r pod uid version; do
            # Not if it has been scheduled since: then it has another resourceVersion.
            printf '{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"%s","resourceVersion":"%s"}}' \
                "$uid" "$version" | k_given delete --raw "/api/v1/namespaces/$1/pods/$pod" -f - >/dev/null 2>&1
        done
}

# Nothing is held back any longer; pods that wait for good are made anew without the pin.
release_pins() {
    while [ -n "$PINNED" ]; do
        item=${PINNED%%
*}
        if patiently unpin "${item%%\|*}" "${item#*\|}" 2>/dev/null; then
            let_go_of_waiting "${item%%\|*}" "${item#*\|}"
        else
            complain "the pin of ${item#*\|} in ${item%%\|*} is still on: start this again and it comes off"
            PINNED=${PINNED#*
}
        fi
    done
}

# Ends where another script may be at work on a controller or a node.
check_holders() {
    nodes=$(read_held_nodes) || refuse "the nodes cannot be read"
    refuse_if_held "$(left_pinned | awk -F'|' '{ print $2 " in " $1 "|" $4 }')
$nodes"
}

# Whatever a killed script left is to be put back, even if this one is interrupted before it gets to it; what one
# has changed that is at work is not.
TAKEN_OVER=''
take_all() {
    left=$(left_pinned | awk -F'|' '$3 != ""')
    PINNED=$(printf '%s\n' "$left" | awk -F'|' '$3 != "" { print $1 "|" $2 }')
    PINNED=$PINNED${PINNED:+
}
    TAKEN_OVER=yes
}

# What scripts have pinned: NAMESPACE|KIND/NAME|POD|BY, one a line; NAMESPACES of the plan
left_pinned() {
    line="{.metadata.namespace}|{.kind}/{.metadata.name}|{.metadata.annotations.planner/pinned-for}|{.metadata.annotations.planner/by}"
    query="jsonpath={range .items[*]}$line{'\n'}{end}"
    k get replicasets,replicationcontrollers -A -o "$query" 2>/dev/null ||
        for namespace in $NAMESPACES; do
            k get replicasets,replicationcontrollers -n "$namespace" -o "$query" 2>/dev/null
        done
}
