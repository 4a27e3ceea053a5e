# ---- Nodes that go: cordoned before the first eviction, empty after the last wave ---------------
#
# A node that this script cordons gets the annotation planner/going, so that it can be told from those that
# other users have cordoned, which are not opened, and planner/by as long as this script is at work.  Where a wave does
# not end, all are opened again.

goes() { printf 'G|%s\n' "$@"; }
stays() { printf 'C|%s\n' "$@"; }

CLOSED='' # whether nodes are cordoned that have to be opened if this does not come to its end

# The nodes of the plan by what becomes of them: LETTERS
planned_nodes() {
    printf '%s\n' "$PLAN" | awk -F'|' -v kinds="$1" 'index(kinds, $1) && NF == 2 { print $2 }'
}

# NAME|CORDONED|MARKED of every node
read_going() {
    line='{.metadata.name}|{.spec.unschedulable}|{.metadata.annotations.planner/going}'
    k get nodes -o "jsonpath={range .items[*]}$line{'\n'}{end}"
}

close_going() {
    known=$(read_going) || stop "nodes cannot be read"
    fresh=0 earlier=''
    for node in $(planned_nodes GC); do
        found=$(printf '%s\n' "$known" | awk -F'|' -v node="$node" '$1 == node')
        [ -n "$found" ] || stop "node $node is not there any more"
        found=${found#*\|}
        [ "$found" != 'true|' ] || continue # by another user
        [ -n "$DRY_RUN" ] || CLOSED=yes
        [ "$found" != 'true|yes' ] || { # by an earlier start
            earlier="$earlier $node"
            continue
        }
        mark="\"planner/going\":\"yes\",\"planner/by\":\"$HOLDER\""
        patch node "$node" --type=merge \
            -p "{\"metadata\":{\"annotations\":{$mark}},\"spec\":{\"unschedulable\":true}}" >/dev/null ||
            stop "$node could not be cordoned"
        fresh=$((fresh + 1))
    done
    # shellcheck disable=SC2086 # names of nodes are words
    [ -z "$earlier" ] || [ -n "$DRY_RUN" ] || take_mark node $earlier || stop "nodes could not be marked"
    [ "$fresh" -eq 0 ] || [ -n "$DRY_RUN" ] || {
        say "cordoned: $fresh node$([ "$fresh" -eq 1 ] || printf s)"
        sleep 1 # the scheduler hears of it
    }
}

# Nodes outside the plan that such a script has cordoned and that hold pods: it was killed, and this plan
# keeps them.  Empty ones wait to be deleted.
left_marked() {
    going=$(planned_nodes G)
    for node in $(printf '%s\n' "$known" | sed -n 's/|.*|yes$//p'); do
        printf '%s\n' "$going" | grep -qxF "$node" || [ -z "$(left_on "$node")" ] || echo "$node"
    done
}

# Opens the nodes of the plan that such a script has cordoned, and those that others left; true when all
# are open but for those that another script has taken over: LETTERS
open_going() {
    rest=' some, which cannot be read now'
    known=$(read_going) || return 1 # left_marked needs it, too
    held=$(read_held_nodes) || return 1
    rest='' others=''
    for node in $(planned_nodes "$1") $(left_marked); do
        [ -n "$(printf '%s\n' "$known" | awk -F'|' -v node="$node" '$1 == node && $3 == "yes"')" ] || continue
        ! is_at_work "$(printf '%s\n' "$held" | awk -F'|' -v what="node $node" '$1 == what { print $2 }')" || {
            others="$others $node"
            continue
        }
        k patch node "$node" --type=merge \
            -p '{"metadata":{"annotations":{"planner/going":null,"planner/by":null}},"spec":{"unschedulable":null}}' >/dev/null ||
            rest="$rest $node"
    done
    [ -z "$rest" ]
}

put_back_more() {
    [ -n "$CLOSED" ] || return 0
    if patiently open_going GC 2>/dev/null; then
        complain "the nodes that were to go are open again${others:+, but for those that another script has taken over:$others}"
    else
        complain "still cordoned:$rest; start this again, or kubectl uncordon them"
    fi
}

# What a node still holds that does not go with it.
left_on() {
    by='.metadata.ownerReferences[?(@.controller==true)].kind'
    on_it=$(k get pods -A --field-selector="spec.nodeName=$1,status.phase!=Succeeded,status.phase!=Failed" \
        -o "jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name}|{$by}{'\n'}{end}") || return 1
    printf '%s\n' "$on_it" | awk -F'|' 'NF && $2 != "DaemonSet" && $2 != "Node" { print $1 }'
}

# Sets EMPTY to the nodes that are cordoned and empty: all of the plan that are still there.
verify_empty() {
    known=$(patiently read_going) || stop "nodes cannot be read"
    EMPTY=''
    for node in $(planned_nodes G); do
        found=$(printf '%s\n' "$known" | awk -F'|' -v node="$node" '$1 == node { print "is" $2 }')
        [ -n "$found" ] || continue
        [ "$found" = istrue ] || stop "node $node is not cordoned any more"
        EMPTY="$EMPTY$node
"
        found=$(patiently left_on "$node") || stop "the pods of $node cannot be read"
        [ -z "$found" ] || stop "$node still has $(first_of "$found" pod)"
    done
}

check_going() {
    need '' list nodes
    need '' get nodes # kubectl reads what it patches
    need '' patch nodes
    need '' list pods
    check_rights
}

main() {
    options "$@"
    PLAN=$(plan)
    NAMESPACES=$(printf '%s\n' "$PLAN" | awk -F'|' '$1 == "M" && !seen[$3]++ { print $3 }')
    check_cluster
    [ -n "$PLAN" ] || {
        say "no node goes"
        exit 0
    }
    check_going
    check_moves
    begin_moves
    # What a script that was killed has cordoned is opened again if this one cannot go on.
    [ -n "$DRY_RUN" ] || [ "$DONE" -eq "$MOVES" ] || ! read_going | grep -q '|yes$' || CLOSED=yes
    [ -z "$NOT_AS_PLANNED" ] || stop "$(not_as_planned); nothing was changed"
    check_nodes
    check_budgets
    close_going
    if [ -n "$DRY_RUN" ]; then
        rehearse
        exit 0
    fi
    [ "$MOVES" -eq 0 ] || carry_out
    verify_empty
    patiently open_going C || stop "a node that stays could not be opened:$rest"
    trap '' HUP INT TERM # all is done; what remains is to say so
    CLOSED=''
    release_nodes "$EMPTY" || complain "the annotation planner/by is still on some of the nodes"
    say "done: empty and cordoned: $(one_line "$EMPTY")"
    [ -z "$DELETE" ] || for node in $EMPTY; do
        say "$(in_context "$KUBECTL") delete node $node"
    done
}
