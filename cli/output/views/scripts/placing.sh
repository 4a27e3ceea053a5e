# ---- Placing: one step after the other, each looked at first, so an earlier start does not matter -----

# The plan as a table; what is written above as commands becomes its rows.
room() { printf 'R|%s|%s\n' "$@"; }
owner() { printf 'O|%s|%s|%s|%s\n' "$@"; }
open_gate() { printf 'X|open|%s|%s|%s|%s|%s|%s\n' "$@"; }
bind() { printf 'X|bind|%s|%s|%s|%s||\n' "$@"; }
evict_pod() { printf 'X|evict|%s|%s|%s|%s|%s|%s\n' "$@"; }
replace() { printf 'X|replace|%s|%s||%s|%s|%s\n' "$@"; }

# Every pod of the namespaces: P|NAMESPACE|UID|NAME|NODE|DELETED|GATES|KIND/NAME of its controller
read_pods() {
    by='.metadata.ownerReferences[?(@.controller==true)]'
    line="{.metadata.uid}|{.metadata.name}|{.spec.nodeName}|{.metadata.deletionTimestamp}"
    line="$line|{.spec.schedulingGates[*].name}|{$by.kind}/{$by.name}"
    read=''
    for namespace in $NAMESPACES; do
        read_more pods -n "$namespace" --field-selector='status.phase!=Succeeded,status.phase!=Failed' \
            --sort-by=.metadata.creationTimestamp -o "jsonpath={range .items[*]}P|$namespace|$line{'\n'}{end}" || return 1
    done
    PODS=$read TROUBLE=''
}

# What is not as planned, before anything is done.
check_pods() {
    wrong=$(printf '%s\n' "$PODS" "$PLAN" | awk -F'|' '
        $1 == "P" { id = $2 "/" $4; uid[id] = $3; node[id] = $5; gates[id] = $7; leaving[id] = $6 != "" }
        $1 == "X" && $2 != "replace" { id = $3 "/" $4 }
        $1 == "X" && ($2 == "open" || $2 == "bind") {
            if (!(id in uid) || ($5 != "" && uid[id] != $5) || leaving[id]) print id " is not there any more"
            else if (node[id] != "" && node[id] != $6) print id " is on " node[id] ", planned was " $6
            else if (node[id] == "" && $2 == "open" && gates[id] != "" && gates[id] != $7) print id " has other gates now"
        }
        $1 == "X" && $2 == "evict" && id in uid && uid[id] == $5 && node[id] != $6 { print id " is on " node[id] ", not on " $6 }')
    [ -z "$wrong" ] || stop "$(first_of "$wrong" pod); nothing was changed"
}

# A node on which a pod is bound without asking the scheduler has to hold just what it held.
check_room() {
    found=$(rows R)
    while IFS='|' read -r node planned; do
        [ -n "$node" ] || continue
        now=$(k get pods -A --field-selector="spec.nodeName=$node,status.phase!=Succeeded,status.phase!=Failed" \
            -o "jsonpath={range .items[*]}P|{.metadata.namespace}/{.metadata.name}{'\n'}{end}" 2>&1) ||
            refuse "the pods of $node cannot be read: $(one_line "$now")"
        for pod in $(printf '%s\n' "$now" | sed -n 's/^P|//p'); do
            case " $planned " in *" $pod "*) ;; *) stop "$pod is on $node now; nothing was changed" ;; esac
        done
    done <<END
$found
END
}

# One pod as it is: sets NOW_ON, GATES and UID_NOW, which is empty when there is none, and ENDING if it is on its way out.
look_at() {
    found=$(k get pod "$2" -n "$1" --ignore-not-found \
        -o "jsonpath={'\n'}P|{.metadata.uid}|{.spec.nodeName}|{.spec.schedulingGates[*].name}|{.metadata.deletionTimestamp}|$GRACE_FIELDS{'\n'}" 2>&1) || {
        TROUBLE=$(one_line "$found")
        return 1
    }
    TROUBLE=''
    found=$(printf '%s\n' "$found" | sed -n 's/^P|//p')
    UID_NOW=${found%%\|*} found=${found#*\|}
    NOW_ON=${found%%\|*} found=${found#*\|}
    GATES=${found%%\|*} found=${found#*\|}
    ENDING=''
    case $found in '' | '|'*) ;; *) ENDING="$1|$2|$UID_NOW|$NOW_ON|${found#*\|}" ;; esac
}

# As look_at, and again while it cannot be read: what was read of another pod says nothing.
look_patiently() {
    begin_waiting
    until look_at "$1" "$2"; do
        [ "$waited" -lt "$TIMEOUT" ] || give_up "$1" "$2"
        wait_more
    done
}

# NAMESPACE POD [THE ONLY NODE THAT IT MAY GO TO]
give_up() {
    complain "$DONE of $STEPS steps are done; $1/$2 has no node${3:+, and may go to $3 alone until it is made anew}$(why_no_node "$1" "$2")"
    stop "nothing has happened for $TIMEOUT seconds${TROUBLE:+: $TROUBLE}"
}

# Before a step: its node may take pods, or what is done for it would be in vain: WHAT-IS-LEFT-UNDONE NODE
check_open() {
    found=$(patiently read_cordons --field-selector="metadata.name=$2" 2>&1) ||
        stop "$1: node $2 cannot be read: $(one_line "$found")"
    [ -z "$(open_among "$found" "$2")" ] || return 0
    complain "$DONE of $STEPS steps are done"
    stop "$1: no pod may come to $2 any more, $CLOSED_SINCE"
}

# Waits until a pod is on its node; any other node ends it: NAMESPACE POD NODE [THE SAME, IF IT MAY GO TO NO OTHER]
await_pod() {
    begin_waiting
    while :; do
        if look_at "$1" "$2"; then
            [ "$NOW_ON" != "$3" ] || return 0
            [ -z "$NOW_ON" ] || stop "$1/$2 is on $NOW_ON, planned was $3"
            [ -n "$UID_NOW" ] || stop "$1/$2 is gone"
        fi
        [ "$waited" -lt "$TIMEOUT" ] || give_up "$1" "$2" "${4-}"
        if is_told_again; then tell_idle "$1/$2 has to come to $3$(why_no_node "$1" "$2")" pod; fi
        wait_more 0.2 # not every sleep takes fractions
    done
}

# Narrows the affinity of a held pod to its node and takes the gates off, in one patch: NAMESPACE POD UID NODE PATCH
do_open() {
    look_patiently "$1" "$2"
    if [ -n "$GATES" ]; then
        check_open "$1/$2 stays held" "$4"
        patch pod "$2" -n "$1" --type=json -p "$5" >/dev/null || stop "the gates of $1/$2 could not be taken off"
    fi
    [ -n "$DRY_RUN" ] || await_pod "$1" "$2" "$4" "$4"
}

# Posts a Binding: NAMESPACE POD UID NODE
do_bind() {
    look_patiently "$1" "$2"
    if [ -z "$NOW_ON" ]; then
        check_open "$1/$2 is not bound" "$4"
        printf '{"apiVersion":"v1","kind":"Binding","metadata":{"name":"%s","namespace":"%s","uid":"%s"},"target":{"apiVersion":"v1","kind":"Node","name":"%s"}}' \
            "$2" "$1" "$3" "$4" |
            k_given create --raw "/api/v1/namespaces/$1/pods/$2/binding${DRY_RUN:+?dryRun=All}" -f - >/dev/null 2>&1 ||
            complain "$1/$2 could not be bound to $4; another client may have been faster"
    fi
    [ -n "$DRY_RUN" ] || await_pod "$1" "$2" "$4"
}

# Evicts, with new pods of the controller held back until their step, and waits until the pod is gone:
# NAMESPACE POD UID OWNER PATCH
do_evict() {
    look_patiently "$1" "$2"
    if [ "$UID_NOW" = "$3" ] && [ -z "$ENDING" ]; then check_open "$1/$2 stays where it is" "$NOW_ON"; fi
    begin_waiting
    while :; do
        if look_at "$1" "$2"; then
            if [ "$UID_NOW" != "$3" ]; then return 0; fi
            if [ -n "$ENDING" ]; then
                if [ -n "$DRY_RUN" ] || ! are_ending; then return 0; fi
                begin_waiting
            elif evict "$1" "$2" "$3" "only ask" && pin "$1" "$4" "$2" "$5"; then
                if [ -n "$DRY_RUN" ]; then return 0; fi
                evict "$1" "$2" "$3" || :
            fi
        fi
        [ "$waited" -lt "$TIMEOUT" ] || stop "$1/$2 is still there after $TIMEOUT seconds"
        if is_told_again; then tell_idle "${TROUBLE:-$1/$2 has to leave $NOW_ON}" pod; fi
        wait_more
    done
}

# The controller's new pods on a node: NAMESPACE OWNER NODE
new_on() {
    printf '%s\n' "$PODS" "$PLAN" | awk -F'|' -v n="$1" -v o="$2" -v node="$3" '
        $1 == "P" && $2 == n && $8 == o && $6 == "" && $5 == node { pods[$4] = 1 }
        $1 == "O" && $2 == n && $3 == o { split($5, names, " "); for (i in names) delete pods[names[i]] }
        END { for (name in pods) count++; print count + 0 }'
}

# The pod whose replacement a controller is pinned for: the first one of it that the plan evicts: NAMESPACE OWNER
first_evicted() {
    rows X | awk -F'|' -v n="$1" -v o="$2" '$1 == "evict" && $2 == n && $6 == o && !found++ { print $3 }'
}

# A pod of a controller that has no node yet: NAMESPACE OWNER
waiting_pod() {
    printf '%s\n' "$PODS" | awk -F'|' -v n="$1" -v o="$2" '
        $1 == "P" && $2 == n && $8 == o && $5 == "" && $6 == "" && !found++ { print $4 }'
}

# Why no new pod of a controller has come, in the words of the scheduler or the API server: NAMESPACE OWNER
why_none_has_come() {
    pod=$(waiting_pod "$1" "$2")
    if [ -n "$pod" ]; then
        printf '; %s/%s has no node%s' "$1" "$pod" "$(why_no_node "$1" "$pod")"
    else
        why=$(why_none_is_made "$1" "$2")
        printf '%s' "${why:+; no pod is made: $why}"
    fi
}

# Where another client has scaled a controller down, or new pods of it have landed elsewhere, none comes any more:
# NAMESPACE OWNER NODE
stop_if_none_comes() {
    [ -z "$(waiting_pod "$1" "$2")" ] || return 0
    wanted=$(k get "$2" -n "$1" -o 'jsonpath={.spec.replicas}' 2>/dev/null) || return 0
    case $wanted in '' | *[!0-9]*) return 0 ;; esac
    live=$(printf '%s\n' "$PODS" | awk -F'|' -v n="$1" -v o="$2" '
        $1 == "P" && $2 == n && $8 == o && $6 == "" { count++ } END { print count + 0 }')
    [ "$live" -lt "$wanted" ] || stop "$2 in $1 has as many pods as it asks for, $wanted: no new one comes to $3"
}

# One more new pod of a controller comes to a node: NAMESPACE OWNER NODE HOW-MANY-THEN PATCH
do_replace() {
    narrowed=''
    [ -z "$DRY_RUN" ] || return 0
    begin_waiting
    while :; do
        if read_pods; then
            [ "$(new_on "$1" "$2" "$3")" -lt "$4" ] || return 0
            stop_if_none_comes "$1" "$2" "$3"
            [ -n "$narrowed" ] || check_open "no new pod of $2 in $1 is led there" "$3"
            if [ -z "$narrowed" ] && pin "$1" "$2" "$(first_evicted "$1" "$2")" "$5"; then
                k patch "$2" -n "$1" --type=json -p "$5" >/dev/null || stop "$2 in $1 could not be pinned"
                await_seen "$1" "$2" || stop "the controller of $2 in $1 does not see its pin"
                let_go_of_waiting "$1" "$2" 1
                narrowed=yes
            fi
        fi
        [ "$waited" -lt "$TIMEOUT" ] ||
            stop "no new pod of $2 in $1 has come to $3 within $TIMEOUT seconds${TROUBLE:+: $TROUBLE}$(why_none_has_come "$1" "$2")"
        if is_told_again; then tell_idle "a new pod of $2 in $1 has to come to $3$(why_none_has_come "$1" "$2")" pod; fi
        wait_more
    done
}

place() {
    DONE=0
    found=$(rows X)
    while IFS='|' read -r what namespace name uid on more patch; do
        case $what in
        open) do_open "$namespace" "$name" "$uid" "$on" "$patch" ;;
        bind) do_bind "$namespace" "$name" "$uid" "$on" ;;
        evict) do_evict "$namespace" "$name" "$uid" "$more" "$patch" ;;
        replace) do_replace "$namespace" "$name" "$on" "$more" "$patch" ;;
        esac
        DONE=$((DONE + 1))
        case $what in
        evict) say "$namespace/$name ${WOULD}leaves $on" ;;
        *) say "$namespace/$name ${WOULD}comes to $on" ;;
        esac
    done <<END
$found
END
}

put_back() {
    if [ -z "$TAKEN_OVER$DRY_RUN" ]; then take_all; fi
    release_pins
}

# What a killed script left behind: this plan goes on with its own controllers, all others are put back.
take_over() {
    take_all
    [ -z "$DRY_RUN" ] || PINNED=''
    while IFS='|' read -r namespace controller _; do
        [ -n "$controller" ] || continue
        if printf '%s\n' "$PLAN" | grep -qF "O|$namespace|$controller|"; then # it stays on the list of what is put back at the end
            [ -n "$DRY_RUN" ] || patiently take_mark "$controller" -n "$namespace" ||
                stop "$controller in $namespace could not be marked"
        elif [ -z "$DRY_RUN" ]; then
            unpin "$namespace" "$controller" || stop "$controller in $namespace is still pinned, and could not be put back"
            let_go_of_waiting "$namespace" "$controller"
            say "$namespace: $controller was still pinned by another script; put back"
        fi
    done <<END
$left
END
}

check_rights_to_place() {
    for namespace in $NAMESPACES; do
        need "$namespace" list pods
        need "$namespace" get pods
        if rows X | grep -q "^open|$namespace|"; then need "$namespace" patch pods; fi
        if rows X | grep -q "^bind|$namespace|"; then need "$namespace" create pods binding; fi
        if rows X | grep -q "^evict|$namespace|"; then
            need "$namespace" create pods eviction
            need "$namespace" delete pods
            for kind in replicasets.apps replicationcontrollers deployments.apps; do
                need "$namespace" get "$kind"
                need "$namespace" patch "$kind"
            done
        fi
    done
    need '' list nodes
    check_rights
}

main() {
    options "$@"
    PLAN=$(plan)
    NAMESPACES=$(rows X | awk -F'|' '!seen[$2]++ { print $2 }')
    STEPS=$(rows X | grep -c '|')
    TROUBLE='' WOULD=${DRY_RUN:+'(dry run) '}
    check_cluster
    if [ "$STEPS" -eq 0 ]; then
        say "nothing to do"
        exit 0
    fi
    check_rights_to_place
    check_holders
    guard
    take_over
    read_pods || refuse "the pods cannot be read: $TROUBLE"
    check_pods
    check_nodes
    check_budgets
    check_room
    place
    release_pins
    say "${WOULD}done: $(counted "$STEPS" step)"
}
