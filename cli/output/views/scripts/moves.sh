# ---- Moves: the pods are looked at, whatever is due is done, and they are looked at again ------
#
# Nothing is remembered between two looks, so it does not matter when this was interrupted.

# The plan as a table; what is written above as commands becomes its rows.
nodes_of() { printf 'S|%s|%s\n' "$@"; }
cordon_of() { printf 'K|%s|%s\n' "$@"; }
owner() { printf 'O|%s|%s|%s|%s\n' "$@"; }
not_ready() { printf 'U|%s|%s\n' "$@"; }
wave() { WAVE=$1; }
move() { printf 'M|%s|%s|%s|%s|%s|%s|%s|%s\n' "$WAVE" "$1" "$2" "$3" "$4" "$5" "$6" "${7-}"; }

# Every pod of the namespaces that has not run to its end:
# P|NAMESPACE|UID|NAME|NODE|DELETED|READY|KIND/NAME|UID of the controller|GRACE|GRACE OF THE SPEC|FINALIZERS
read_pods() {
    by='.metadata.ownerReferences[?(@.controller==true)]'
    line="{.metadata.uid}|{.metadata.name}|{.spec.nodeName}|{.metadata.deletionTimestamp}"
    line="$line|{.status.conditions[?(@.type=='Ready')].status}|{$by.kind}/{$by.name}|{$by.uid}|$GRACE_FIELDS"
    read=''
    for namespace in $NAMESPACES; do
        read_more pods -n "$namespace" --field-selector='status.phase!=Succeeded,status.phase!=Failed' \
            --sort-by=.metadata.creationTimestamp -o "jsonpath={range .items[*]}P|$namespace|$line{'\n'}{end}" || return 1
    done
    PODS=$read TROUBLE=''
}

# The nodes behind every label selector of the plan: S|SELECTOR|NAMES; false when they cannot be read just now.
read_sets() {
    sets=''
    selectors=$(printf '%s\n' "$PLAN" | awk -F'|' '$1 == "M" && $8 ~ / in \(/ && !seen[$8]++ { print $8 }')
    while IFS= read -r selector; do
        [ -n "$selector" ] || continue
        names=$(k get nodes -l "$selector" -o 'jsonpath={"\n"}L|{.items[*].metadata.name}{"\n"}' 2>&1) || {
            TROUBLE=$(one_line "$names")
            return 1
        }
        sets="${sets}S|$selector|$(printf '%s\n' "$names" | sed -n 's/^L|//p')
"
    done <<END
$selectors
END
    SETS=$sets
}

# How far the plan is.  A move is `todo`, `away` (evicted, no replacement on a node yet), `landed` or
# `done` (and ready, if the pod that went was); the rows that come out are those of the wave that is due, and of
# the one before:
#   T|MOVES DONE|MOVES|WAVE DUE|WAVES     ?|WHAT IS NOT AS PLANNED
#   todo|NAMESPACE|POD|UID|FROM|KIND/NAME|TO|REPLACEMENT|ITS NODE|PIN     (away, landed, done alike)
#   E|a row of ENDING, for every evicted pod that is still there
assess() {
    printf '%s\n' "$SETS" "$PODS" "$PLAN" | awk -F'|' -v told="$TOLD_WAVE" '
        $1 == "S" { n = split($3, names, " "); sets[$2] = 1; for (i = 1; i <= n; i++) member[$2, names[i]] = 1 }
        $1 == "P" {
            id = $2 "/" $4; there[id] = 1; uid_now[id] = $3; node_now[id] = $5; leaving[id] = $6 != ""; ready[id] = $7 == "True"
            if ($6 == "") { live[$2 " " $8] = live[$2 " " $8] " " $4; by[$2 " " $8] = $9 }
            else ending[id] = $2 "|" $4 "|" $3 "|" $5 "|" $10 "|" $11 "|" $12
        }
        $1 == "O" { owners[++o] = $2 " " $3; owner_uid[$2 " " $3] = $4; known[$2 " " $3] = $5 }
        $1 == "U" { was_not_ready[$2 "/" $3] = 1 }
        $1 == "M" {
            m++; wave[m] = $2; space[m] = $3; pod[m] = $4; uid[m] = $5; from[m] = $6; own[m] = $3 " " $7; to[m] = $8
            pin[m] = $9; for (i = 10; i <= NF; i++) pin[m] = pin[m] "|" $i
            moved[$3 "/" $4] = m
        }
        function fits(set, node) {
            return set in sets ? (set, node) in member : index("," set ",", "," node ",") > 0
        }
        function wrong(what) { print "?|" what }
        # Whether it is the very pod that was planned.
        function same(i, id) {
            return id in there && (uid[i] == "" ? node_now[id] == from[i] : uid_now[id] == uid[i])
        }
        # A move is todo as long as its pod runs, and away from when the pod is on its way out.
        function judge_move(i,    id) {
            id = space[i] "/" pod[i]
            state[i] = same(i, id) && !leaving[id] ? "todo" : "away"
            if (same(i, id) && leaving[id]) print "E|" ending[id]
            if (state[i] == "todo" && node_now[id] != from[i]) wrong(id " is on " node_now[id] ", not on " from[i])
        }
        # Of the pods that a controller had when the plan was made, those that do not move stay where they were.
        # The others of its pods are fresh: new since then, or with the name of one that was evicted.
        # Last come those that waited for a node: one may have taken the place, and the replacement waits instead.
        function judge_owner(owner,    part, names, where, listed, came, n, i, id) {
            split(owner, part, " ")
            if (owner_uid[owner] != "" && owner in by && by[owner] != owner_uid[owner])
                wrong(part[2] " in " part[1] " has been made anew")
            n = split(known[owner], names, " ")
            for (i = 1; i <= n; i++) {
                split(names[i], where, "@"); id = part[1] "/" where[1]; listed[where[1]] = 1
                if (id in moved) continue
                if (!(id in there) || leaving[id]) wrong(id " is gone, and not by this plan")
                else if (where[2] != "" && node_now[id] != where[2]) wrong(id " is on " node_now[id] ", not on " where[2])
                else if (where[2] == "" && node_now[id] != "") { waited[id] = 1; came = came " " where[1] }
            }
            n = split(live[owner], names, " ")
            for (i = 1; i <= n; i++) {
                id = part[1] "/" names[i]
                if (names[i] in listed && !(id in moved && state[moved[id]] == "away")) continue
                fresh[owner] = fresh[owner] " " names[i]
            }
            fresh[owner] = fresh[owner] came
        }
        # The oldest fresh pod of the owner, not yet taken, that is in the set, waiting, or anywhere.
        function fresh_pod(i, how,    n, names, j, id) {
            n = split(fresh[own[i]], names, " ")
            for (j = 1; j <= n; j++) {
                id = space[i] "/" names[j]
                if (id in taken || own[i] ~ / StatefulSet\// && names[j] != pod[i]) continue
                if (how == "in the set" && (node_now[id] == "" || !fits(to[i], node_now[id]))) continue
                if (how == "waiting" && node_now[id] != "" || how == "anywhere" && id in waited) continue
                taken[id] = 1
                return names[j]
            }
            return ""
        }
        # Which fresh pod is the replacement of a move, best one that landed where it was to.
        function find_replacement(i,    id) {
            if ((new[i] = fresh_pod(i, "in the set")) != "") {
                state[i] = ready[space[i] "/" new[i]] || space[i] "/" pod[i] in was_not_ready ? "done" : "landed"
            } else if ((new[i] = fresh_pod(i, "waiting")) == "" && (new[i] = fresh_pod(i, "anywhere")) != "") {
                id = space[i] "/" new[i]; wrong(id " has landed on " node_now[id] ", planned was " to[i])
            }
        }
        # A fresh pod that replaces nothing came from elsewhere, unless another that waited has its place.
        function judge_rest(owner,    part, names, n, i, id, instead) {
            split(owner, part, " "); n = split(fresh[owner], names, " ")
            for (i = 1; i <= n; i++) { id = part[1] "/" names[i]; instead += id in waited && id in taken }
            for (i = 1; i <= n; i++) {
                id = part[1] "/" names[i]
                if (id in taken || id in waited || node_now[id] == "" && instead-- > 0) continue
                wrong(id " is new, and not by this plan")
            }
        }
        # The first wave with a move that is not done is due; nothing of a later one may be evicted
        # before all of an earlier one have landed.
        function count(    i) {
            for (i = 1; i <= m; i++) {
                finished += state[i] == "done"
                if (state[i] != "done" && !due) due = wave[i]
                if ((state[i] == "todo" || state[i] == "away") && !first) first = wave[i]
                if (first && wave[i] > first && state[i] != "todo") wrong(space[i] "/" pod[i] " is gone before its wave")
            }
        }
        function print_move(i,    part, node) {
            node = new[i] == "" ? "" : node_now[space[i] "/" new[i]]
            split(own[i], part, " ")
            print state[i] "|" space[i] "|" pod[i] "|" uid[i] "|" from[i] "|" part[2] "|" to[i] "|" new[i] "|" node "|" pin[i]
        }
        END {
            for (i = 1; i <= m; i++) judge_move(i)
            for (j = 1; j <= o; j++) judge_owner(owners[j])
            for (i = 1; i <= m; i++) if (state[i] == "away") find_replacement(i)
            for (j = 1; j <= o; j++) judge_rest(owners[j])
            count()
            printf "T|%d|%d|%d|%d\n", finished, m, due, wave[m]
            for (i = 1; i <= m; i++) if (wave[i] == due || wave[i] == told) print_move(i)
        }'
}

# Looks at the pods; false when they cannot be read just now.
look() {
    read_pods || return 1
    STATE=$(assess)
    NOT_AS_PLANNED=$(printf '%s\n' "$STATE" | sed -n 's/^?|//p')
    ENDING=$(printf '%s\n' "$STATE" | sed -n 's/^E|//p')
    total=$(printf '%s\n' "$STATE" | sed -n 's/^T|//p')
    DONE=${total%%\|*} total=${total#*\|}
    MOVES=${total%%\|*} total=${total#*\|}
    DUE=${total%%\|*} WAVES=${total#*\|}
}

# As look, and once more with the labels of the nodes as they are now before anything is called not as planned.
look_twice() {
    look || return 1
    [ -n "$NOT_AS_PLANNED" ] || return 0
    read_sets && look
}

# In the end, where the labels of nodes say where replacements may be: other users may have changed these meanwhile.
look_at_the_end() {
    [ -n "$SETS" ] || return 0
    begin_waiting
    until read_sets && look; do
        [ "$waited" -lt "$TIMEOUT" ] || stop "the nodes and pods cannot be read: $TROUBLE"
        wait_more
    done
    [ -z "$NOT_AS_PLANNED" ] || stop_not_as_planned "$(not_as_planned)"
}

# What the cluster looks like, for the user to decide how to go on.
picture() {
    begun=$DUE
    [ "$DUE" -gt 0 ] || begun=$WAVES # all moves are done, and other pods are not as planned
    complain "done: $DONE of $(counted "$MOVES" move)$([ "$DUE" -eq 0 ] || printf ', wave %s of %s is due' "$DUE" "$WAVES")"
    printf '%s\n' "$PODS" "$PLAN" | awk -F'|' '
        $1 == "P" && $6 == "" { on[$2 " " $8] = on[$2 " " $8] " " ($5 == "" ? "(no-node)" : $5) }
        $1 == "O" {
            n = split(on[$2 " " $3], nodes, " "); split("", count); line = ""
            for (i = 1; i <= n; i++) count[nodes[i]]++
            for (i = 1; i <= n; i++) if (nodes[i] in count) { line = line " " nodes[i] ":" count[nodes[i]]; delete count[nodes[i]] }
            print "  " $2 " " $3 " now:" line
        }' >&2
    tell_unscheduled '  '
    tell_resumed
    if read_ending "$(evicted_until "$begun")"; then
        printf '%s\n' "$ENDING" | awk -F'|' 'NF {
            print "  " $1 "/" $2 " is still terminating on " $4 ($7 == "" ? "" : ", finalizers: " $7)
        }' >&2
    fi
}

# Why replacements have no node yet, or are not even made, as their controller tells: WHAT THE LINES BEGIN WITH
tell_unscheduled() {
    printf '%s\n' "$STATE" | awk -F'|' '$1 == "away" && $9 == "" { print $2 "|" $3 "|" $6 "|" $8 }' |
        while IFS='|' read -r namespace pod owner new; do
            if [ -n "$new" ]; then
                complain "$1$namespace/$new has no node$(why_no_node "$namespace" "$new")"
            else
                why=$(why_none_is_made "$namespace" "$owner")
                [ -z "$why" ] || complain "$1no pod is made in place of $namespace/$pod: $why"
            fi
        done
}

# Where another client has scaled a controller down, in a rollout, say, no pod is made for one that was evicted; nor does
# a Job have to make one for a pod that has run to its end.
stop_if_none_is_made() {
    awaiting=$(printf '%s\n' "$STATE" | awk -F'|' '$1 == "away" && $8 == "" { print $2 "|" $3 "|" $4 "|" $6 }')
    while IFS='|' read -r namespace pod uid owner; do
        [ -n "$pod" ] || continue
        case $owner in Job/*)
            ended=$(k get pods -n "$namespace" --field-selector="metadata.name=$pod,status.phase!=Pending,status.phase!=Running" \
                -o 'jsonpath={range .items[*]}{.metadata.deletionTimestamp}|{.metadata.uid}{end}' 2>/dev/null) || continue
            case $ended in "|$uid"*) stop_not_as_planned "$namespace/$pod has run to its end, and not by this plan" ;; esac
            continue
            ;;
        esac
        wanted=$(k get "$owner" -n "$namespace" -o 'jsonpath={.spec.replicas}' 2>/dev/null) || continue
        live=$(printf '%s\n' "$PODS" | awk -F'|' -v n="$namespace" -v o="$owner" '
            $1 == "P" && $2 == n && $6 == "" && $8 == o { count++ } END { print count + 0 }')
        case $wanted in '' | *[!0-9]*) continue ;; esac
        [ "$live" -lt "$wanted" ] ||
            stop_not_as_planned "$owner in $namespace has $wanted replicas by now: no pod is made in place of $namespace/$pod"
    done <<END
$awaiting
END
}

# A replacement that is bound to a node which is lost since then does not become ready there.
stop_if_node_is_lost() {
    landed=$(printf '%s\n' "$STATE" | awk -F'|' '$1 == "landed" { print $2 "/" $8 "|" $9 }')
    lost=$(on_lost_nodes "$landed")
    [ -z "$lost" ] || stop_not_as_planned "$(first_of "$lost" pod)"
}

# In the end: pods of the controllers of the plan that are bound to a node which is gone run nowhere, and no constraint
# counts them.
stop_if_stranded() {
    names=$(patiently k get nodes -o 'jsonpath={.items[*].metadata.name}' 2>/dev/null) || stop "nodes cannot be read"
    stranded=$(printf '%s\n' "$names" "---" "$PLAN" "$PODS" | awk -F'|' '
        $1 == "---" { listed = 1; next }
        !listed { n = split($0, all, " "); for (i = 1; i <= n; i++) there[all[i]] = 1; next }
        $1 == "O" { planned[$2 " " $3] = 1 }
        $1 == "P" && $5 != "" && $6 == "" && ($2 " " $8) in planned && !($5 in there) {
            print $2 "/" $4 " is on " $5 ", which is not there any more"
        }')
    [ -z "$stranded" ] || stop_not_as_planned "$(first_of "$stranded" pod)"
}

# What the moves that are due wait for, one a line
awaited() {
    printf '%s\n' "$STATE" | awk -F'|' '
        $1 == "todo" { print $2 "/" $3 " has to leave " $5 }
        $1 == "away" { print "the replacement of " $2 "/" $3 " has to land on " $7 }
        $1 == "landed" { print $2 "/" $8 " has to be ready on " $9 }'
}

# What waves were to evict, up to and with one of them: NAMESPACE|POD|UID|NODE, one a line
evicted_until() {
    printf '%s\n' "$PLAN" | awk -F'|' -v wave="$1" '$1 == "M" && $2 <= wave + 0 { print $3 "|" $4 "|" $5 "|" $6 }'
}

# What is not as planned, in a line: controllers that are others come before all pods.
not_as_planned() {
    anew=$(printf '%s\n' "$NOT_AS_PLANNED" | grep ' has been made anew$')
    if [ -n "$anew" ]; then first_of "$anew" controller; else first_of "$NOT_AS_PLANNED" pod; fi
}

stop_not_as_planned() {
    picture
    stop "$*"
}

# Tells what has landed, and takes the pins and cordons off that have done their work; false when that has to be
# tried again.
finish_landed() {
    while IFS='|' read -r state namespace _ _ _ _ _ new on _; do
        case $state in landed | done) announce "$namespace/$new" "$on" ;; esac
    done <<END
$STATE
END
    while IFS='|' read -r namespace owner; do
        if [ -n "$owner" ] && ! is_under_way "$namespace" "$owner"; then
            unpin "$namespace" "$owner" 2>/dev/null || {
                TROUBLE="the pin of $owner in $namespace could not be taken off"
                return 1
            }
        fi
    done <<END
$PINNED
END
    if [ -n "$CORDONED" ] && ! printf '%s\n' "$STATE" | grep -q '^away|.*|cordon:[^|]*$'; then
        open_nodes "$(next_cordon)" 2>/dev/null || TROUBLE="the cordon of $still could not be taken off"
        if [ -n "$OPENED" ]; then
            # shellcheck disable=SC2086 # names of nodes are words
            say "open again: $(few_nodes $OPENED)"
            sleep 1 # the node controller takes its taint off a moment later
        fi
        [ -z "$still" ] || return 1
    fi
}

# The nodes that stay closed for what comes next: NODE,NODE...
next_cordon() {
    [ "$DUE" -gt 0 ] || return 0
    next=$(printf '%s\n' "$STATE" | awk -F'|' '$1 == "todo" && $10 ~ /^cordon:/ && !found++ { print $10 }')
    if ! printf '%s\n' "$STATE" | grep -q '^todo|'; then
        next=$(printf '%s\n' "$PLAN" | awk -F'|' -v wave="$((DUE + 1))" '
            $1 == "M" && $2 == wave && $9 ~ /^cordon:/ && !found++ { print $9 }')
    fi
    [ -z "$next" ] || named_nodes "$next"
}

# The nodes of a cordon: cordon:NODE,NODE... or cordon:@NAME
named_nodes() {
    case $1 in
    cordon:@*) printf '%s\n' "$PLAN" | awk -F'|' -v name="${1#cordon:}" '$1 == "K" && $2 == name { gsub(" ", ",", $3); print $3 }' ;;
    *) printf '%s\n' "${1#cordon:}" ;;
    esac
}

ANNOUNCED=''
announce() {
    case $ANNOUNCED in *" $1 "*) return 0 ;; esac
    ANNOUNCED="$ANNOUNCED $1 "
    say "$1 has landed on $2"
}

# Whether a controller's replacement is still on its way: NAMESPACE KIND/NAME
is_under_way() {
    printf '%s\n' "$STATE" | awk -F'|' -v n="$1" -v o="$2" '$1 == "away" && $2 == n && $6 == o { found = 1 } END { exit !found }'
}

# Whether a move has to wait for others of its controller that are under way.  Pins and cordons lead one
# replacement at a time, and which replacement is whose is known where all may land on the same nodes.
# NAMESPACE KIND/NAME TO PIN
has_to_wait() {
    case $busy in *"|$1|$2|"*) ;; *) return 1 ;; esac
    [ -n "$4" ] || printf '%s\n' "$busy" | grep -F "|$1|$2|" | grep -qvxF "|$1|$2|$3|"
}

# Everything that is due in this wave, side by side as far as it can be.
act() {
    busy='' NODES=''
    while IFS='|' read -r state namespace pod _ _ owner to new _ pin; do
        case $state in away | landed) busy="$busy|$namespace|$owner|$to|$pin
" ;; esac
        if [ "$state" = away ] && [ -n "$pin" ]; then hold_replacement "$namespace" "$owner" "$pod" "$pin" "$new"; fi
    done <<END
$STATE
END
    while IFS='|' read -r state namespace pod uid from owner to _ _ pin; do
        [ "$state" = todo ] || continue
        if has_to_wait "$namespace" "$owner" "$to" "$pin"; then continue; fi
        busy="$busy|$namespace|$owner|$to|$pin
"
        check_target "$namespace/$pod" "$to" || continue
        if [ -n "$pin" ]; then
            evict "$namespace" "$pod" "$uid" "only ask" || continue
            hold_replacement "$namespace" "$owner" "$pod" "$pin" "" || continue
        fi
        if evict "$namespace" "$pod" "$uid"; then
            say "evicted $namespace/$pod from $from"
            begin_waiting
        fi
    done <<END
$STATE
END
}

# Before a pod goes: its replacement may land on a node that is ready and that another user has not cordoned or tainted
# since the plan was made, or it would wait for ever: NAMESPACE/POD TO.  False when the nodes cannot be read just now.
check_target() {
    [ -n "$NODES" ] || NODES=$(read_cordons 2>&1) || {
        TROUBLE=$(one_line "$NODES") NODES=''
        return 1
    }
    names=$(printf '%s\n' "$SETS" "$PLAN" | awk -F'|' -v to="$2" '
        $1 == "S" && $2 == to { set = 1; gsub(" ", ",", $3); print $3 }
        END { if (!set) print to }')
    [ -z "$names" ] || [ -n "$(open_among "$NODES" "$names")" ] || {
        closed=$(printf '%s\n' "$names" | awk -F, '{ print $1 (NF > 1 ? " and " NF - 1 " more" : "") }')
        stop_not_as_planned "$1 stays where it is: no pod may land on $closed any more, $CLOSED_SINCE"
    }
}

# A replacement has its pin, and one that was made without it is made once more; or wrong nodes are
# cordoned, and the scheduler has a second to hear of it: NAMESPACE KIND/NAME POD PATCH-OR-NODES REPLACEMENT
hold_replacement() {
    case $4 in
    cordon:*)
        if close_nodes "$1" "$3" "$(named_nodes "$4")" && [ -z "$DRY_RUN" ]; then
            # shellcheck disable=SC2086 # names of nodes are words
            set -- "$1/$3" $fresh
            replaced=$1
            shift
            say "$(few_nodes "$@") $([ $# -eq 1 ] && printf is || printf are) cordoned until the replacement of $replaced has landed"
            sleep 1
        fi
        ;;
    *)
        is_pinned "$1" "$2" || { pin "$1" "$2" "$3" "$4" && if [ -n "$5" ]; then let_go_of_waiting "$1" "$2"; fi; }
        ;;
    esac
}

carry_out() {
    before='' TROUBLE='' due=''
    begin_waiting
    while :; do
        if look_twice && finish_landed; then
            [ -z "$NOT_AS_PLANNED" ] || stop_not_as_planned "$(not_as_planned)"
            if [ "$DONE" -eq "$MOVES" ]; then
                await_gone "$(evicted_until "$WAVES")"
                look_at_the_end
                stop_if_stranded
                return 0
            fi
            if [ "$DUE" -ne "$TOLD_WAVE" ]; then
                await_gone "$(evicted_until "$((DUE - 1))")"
                say "wave $DUE of $WAVES"
                TOLD_WAVE=$DUE
                begin_waiting
                [ "$DUE" -eq 1 ] || continue # time has passed: the pods are looked at once more
            fi
            [ "$STATE" = "$before" ] || begin_waiting
            before=$STATE
            stop_if_none_is_made
            act
            # A replacement may be made, or find room, only when the old pod is gone.
            if are_ending; then begin_waiting; fi
            due=$(awaited)
            if is_told_again; then
                stop_if_node_is_lost
                tell_idle "$due" move
                tell_unscheduled 'waiting: '
            fi
        fi
        [ "$waited" -lt "$TIMEOUT" ] ||
            stop_not_as_planned "nothing has happened for $TIMEOUT seconds${TROUBLE:+: $TROUBLE}${due:+: $(first_of "$due" move)}"
        wait_more
    done
}

# A replacement that is about to land gets ten seconds to do so under its pin.
put_back() {
    if [ -z "$TAKEN_OVER$DRY_RUN" ]; then take_everything; fi
    [ -z "$PINNED$CORDONED" ] || complain "putting back what was changed"
    for second in 1 2 3 4 5 6 7 8 9 10; do
        if [ -z "$PINNED$CORDONED" ] || ! look 2>/dev/null; then break; fi
        printf '%s\n' "$STATE" | grep -q '^away|.*|[^|]\{1,\}$' || break
        [ "$second" -eq 10 ] || sleep 1
    done
    release_pins
    patiently open_nodes 2>/dev/null || complain "still cordoned: $(one_line "$CORDONED"); start this again, or kubectl uncordon them"
    put_back_more
}

# What else a script has changed; those that have more of it say how.
put_back_more() { :; }

# What killed scripts left behind is to be put back, even if this one is interrupted before it gets to it.
take_everything() {
    left_cordoned=$(read_cordons | awk -F'|' '$4 != "" { print $1 "|" $4 }')
    CORDONED=$(printf '%s\n' "$left_cordoned" | awk -F'|' '$2 != "" { print $1 }')
    CORDONED=$CORDONED${CORDONED:+
}
    take_all
}

# Whether a move is under way that goes on with what a killed script left: NAMESPACE/POD [KIND/NAME]
goes_on() {
    printf '%s\n' "$STATE" | awk -F'|' -v pod="$1" -v owner="${2-}" '
        $1 == "away" && $2 "/" $3 == pod && (owner == "" || $6 == owner) && $10 != "" { found = 1 } END { exit !found }'
}

# A pin or a cordon stays where this plan goes on with that move, else it comes off.
take_over() {
    take_everything
    [ -z "$DRY_RUN" ] || PINNED='' CORDONED=''
    while IFS='|' read -r namespace owner pod _; do
        [ -n "$pod" ] || continue
        if goes_on "$namespace/$pod" "$owner"; then # it stays on the list of what is put back at the end
            [ -n "$DRY_RUN" ] || patiently take_mark "$owner" -n "$namespace" || stop "$owner in $namespace could not be marked"
        elif [ -n "$DRY_RUN" ]; then
            say "$namespace: $owner is still pinned by another script; that would be put back"
        else
            unpin "$namespace" "$owner" || stop "$owner in $namespace is still pinned, and could not be put back"
            let_go_of_waiting "$namespace" "$owner"
            say "$namespace: $owner was still pinned by another script; put back"
        fi
    done <<END
$left
END
    wanted=$(printf '%s\n' "$STATE" | awk -F'|' '$1 == "away" && $10 ~ /^cordon:/ && !seen[$10]++ { print $10 }' |
        while read -r cordon; do named_nodes "$cordon"; done | tr '\n' ',')
    while IFS='|' read -r node _; do
        if [ -z "$node" ]; then continue; fi
        case ",$wanted" in *",$node,"*) # this plan goes on with such a move
            [ -n "$DRY_RUN" ] || patiently take_mark node "$node" || stop "$node could not be marked"
            continue
            ;;
        esac
        if [ -n "$DRY_RUN" ]; then
            say "$node is still cordoned by another script; that would be put back"
        else
            open_node "$node" || stop "$node is still cordoned, and could not be put back"
            CORDONED=$(printf '%s' "$CORDONED" | grep -vxF "$node")
            CORDONED=$CORDONED${CORDONED:+
}
            say "$node was still cordoned by another script; put back"
        fi
    done <<END
$left_cordoned
END
}

check_moves() {
    for namespace in $NAMESPACES; do
        need "$namespace" list pods
        need "$namespace" create pods eviction
    done
    need '' list nodes
    if printf '%s\n' "$PLAN" | grep -q '^M|.*|cordon:[^|]*$'; then
        need '' get nodes
        need '' patch nodes
    fi
    for namespace in $(printf '%s\n' "$PLAN" | awk -F'|' '$1 == "M" && $9 ~ /^\[/ && !seen[$3]++ { print $3 }'); do
        for kind in replicasets.apps replicationcontrollers deployments.apps; do
            need "$namespace" get "$kind"
            need "$namespace" patch "$kind"
        done
        need "$namespace" delete pods
    done
    check_rights
}

# Asks the API server about every change that is still to be made.
rehearse() {
    say "dry run: $DONE of $MOVES moves are done"
    found=$(rows M)
    while IFS='|' read -r number namespace pod uid from owner to pin; do
        if [ -z "$pod" ] || [ "$number" -lt "$DUE" ]; then continue; fi
        if [ -n "$pin" ]; then hold_replacement "$namespace" "$owner" "$pod" "$pin" ""; fi
        if evict "$namespace" "$pod" "$uid"; then say "wave $number: $namespace/$pod would go from $from to $to"; fi
    done <<END
$found
END
}

# The pods are looked at, and once more when what killed scripts left has been taken over.
begin_moves() {
    TROUBLE='' TOLD_WAVE=0
    read_sets || refuse "the nodes cannot be read: $TROUBLE"
    look_twice || refuse "the pods cannot be read: $TROUBLE"
    check_holders
    guard
    take_over
    look_twice || stop "the pods cannot be read: $TROUBLE"
}

main() {
    options "$@"
    PLAN=$(plan)
    NAMESPACES=$(printf '%s\n' "$PLAN" | awk -F'|' '$1 == "M" && !seen[$3]++ { print $3 }')
    check_cluster
    [ -z "$PLAN" ] || check_moves
    begin_moves
    if [ "$MOVES" -eq 0 ]; then
        say "nothing to move"
        exit "$NOTHING_TO_MOVE"
    fi
    [ -z "$NOT_AS_PLANNED" ] || stop "$(not_as_planned); nothing was changed"
    check_nodes
    check_budgets
    if [ -n "$DRY_RUN" ]; then
        rehearse
        exit 0
    fi
    carry_out
    say "done: $MOVES move$([ "$MOVES" -eq 1 ] || printf s)"
    [ "$LATER" -eq 0 ] || say "$LATER more are to be planned now: $AGAIN"
}
