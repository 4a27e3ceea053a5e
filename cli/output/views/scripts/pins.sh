# ---- Pins: where new pods of a controller may go, for a while ---------------------------------
#
# The template of a ReplicaSet or ReplicationController is narrowed; a Deployment above it is paused
# meanwhile, or it would roll out.  Before anything else the controller gets annotations that say how
# to undo that, so that it can be undone after a KILL:
#   planner/pinned-for  the pod whose replacement is meant
#   planner/affinity    spec.template.spec.affinity as it was, as JSON
#   planner/resume      the Deployment that was paused for it, if it was not paused before

PINNED='' # what has to be put back: NAMESPACE|KIND/NAME, one a line

is_pinned() {
    printf '%s\n' "$PINNED" | grep -qxF "$1|$2"
}

# One pod's replacement goes where it shall: NAMESPACE KIND/NAME POD PATCH.  False when the controller, or the
# Deployment above it, cannot be read just now: one that is not paused would roll out.
pin() {
    if is_pinned "$1" "$2"; then return 0; fi
    if [ -n "$DRY_RUN" ]; then
        patch "$2" -n "$1" --type=json -p "$4" >/dev/null || stop "$2 in $1 cannot be pinned; nothing was changed"
        return 0
    fi
    line="{.metadata.ownerReferences[?(@.kind=='Deployment')].name}|{.spec.template.spec.affinity}"
    found=$(k get "$2" -n "$1" -o "jsonpath=$line") || return 1
    was=${found#*|} resume=${found%%|*}
    if [ -n "$resume" ]; then
        paused=$(k get deployment "$resume" -n "$1" -o 'jsonpath={.spec.paused}') || return 1
        [ "$paused" != true ] || resume=''
    fi
    PINNED="$PINNED$1|$2
"
    quoted=$(printf '%s' "${was:-null}" | sed 's/[\\"]/\\&/g')
    mark="\"planner/pinned-for\":\"$3\",\"planner/affinity\":\"$quoted\",\"planner/resume\":\"$resume\""
    k patch "$2" -n "$1" --type=merge -p "{\"metadata\":{\"annotations\":{$mark}}}" >/dev/null ||
        stop "$2 in $1 could not be marked"
    if [ -n "$resume" ]; then
        k patch deployment "$resume" -n "$1" --type=merge -p '{"spec":{"paused":true}}' >/dev/null ||
            stop "deployment $resume in $1 could not be paused"
    fi
    k patch "$2" -n "$1" --type=json -p "$4" >/dev/null || stop "$2 in $1 could not be pinned"
    say "$1: new pods of $2 are pinned until the replacement of $3 has landed"
}

# The pin comes off again, as the annotations say: NAMESPACE KIND/NAME
unpin() {
    notes='{.metadata.annotations.planner/resume}|{.metadata.annotations.planner/affinity}'
    found=$(k get "$2" -n "$1" --ignore-not-found -o "jsonpath=$notes") || return 1
    was=${found#*|}
    resume=${found%%|*}
    if [ -n "$was" ]; then
        k patch "$2" -n "$1" --type=json \
            -p "[{\"op\":\"add\",\"path\":\"/spec/template/spec/affinity\",\"value\":$was}]" >/dev/null || return 1
        if [ -n "$resume" ]; then
            k patch deployment "$resume" -n "$1" --type=merge -p '{"spec":{"paused":null}}' >/dev/null || return 1
        fi
        gone='"planner/pinned-for":null,"planner/affinity":null,"planner/resume":null'
        k patch "$2" -n "$1" --type=merge -p "{\"metadata\":{\"annotations\":{$gone}}}" >/dev/null || return 1
    fi
    PINNED=$(printf '%s' "$PINNED" | grep -vxF "$1|$2")
    PINNED=$PINNED${PINNED:+
}
}

# Deployments that were paused for a pin, and that another user has resumed: they roll out.
tell_resumed() {
    for item in $PINNED; do
        resume=$(k get "${item#*|}" -n "${item%%|*}" -o 'jsonpath={.metadata.annotations.planner/resume}' 2>/dev/null) || continue
        [ -n "$resume" ] || continue
        paused=$(k get deployment "$resume" -n "${item%%|*}" -o 'jsonpath=is{.spec.paused}' 2>/dev/null) || continue
        [ "$paused" = istrue ] || complain "  deployment $resume in ${item%%|*} was paused for this, and another user has resumed it: it rolls out"
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

# Whatever a killed script left is to be put back, even if this one is interrupted before it gets to it.
TAKEN_OVER=''
take_all() {
    left=$(left_pinned | awk -F'|' '$3 != ""')
    PINNED=$(printf '%s\n' "$left" | awk -F'|' '$3 != "" { print $1 "|" $2 }')
    PINNED=$PINNED${PINNED:+
}
    TAKEN_OVER=yes
}

# What scripts left behind that were killed: NAMESPACE|KIND/NAME|POD, one a line; NAMESPACES of the plan
left_pinned() {
    line="{.metadata.namespace}|{.kind}/{.metadata.name}|{.metadata.annotations.planner/pinned-for}"
    query="jsonpath={range .items[*]}$line{'\n'}{end}"
    k get replicasets,replicationcontrollers -A -o "$query" 2>/dev/null ||
        for namespace in $NAMESPACES; do
            k get replicasets,replicationcontrollers -n "$namespace" -o "$query" 2>/dev/null
        done
}
