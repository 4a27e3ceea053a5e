# ---- Cordons: the nodes that would be wrong for a replacement, until it has landed ----------
#
# A node gets the annotation planner/cordoned-for, with the pod whose replacement is meant, in the very
# change that cordons it, so that it can be opened after a KILL, and planner/by.  A node that another user has
# cordoned needs nothing, and is not opened.

CORDONED='' # what has to be opened again: one node a line
ASKED=''    # in a dry run, what the API server has been asked about: each node once

is_cordoned() {
    printf '%s\n' "$CORDONED" | grep -qxF "$1"
}

# New pods keep off some nodes: NAMESPACE POD NODE,NODE...; true when one of them was open until now.
close_nodes() {
    fresh=''
    open=$(not_closed_yet "$3")
    [ -n "$open" ] || return 1
    cordons=$(read_cordons) || stop "nodes cannot be read"
    for node in $open; do
        close_node "$1/$2" "$node" "$cordons"
    done
    [ -n "$fresh" ]
}

# Those of NODE,NODE... that this script has not cordoned, nor asked about, one a line
not_closed_yet() {
    printf '%s\n' "$CORDONED$ASKED" "---" "$1" | awk -F, '
        $1 == "---" { listed = 1; next }
        !listed { closed[$1] = 1; next }
        { for (i = 1; i <= NF; i++) if (!($i in closed)) print $i }'
}

# One node, as it is among those that were read; looked at once more when another client has just changed it.
close_node() {
    found=$3
    for attempt in 1 2 3 4 5; do
        [ "$attempt" -eq 1 ] || found=$(read_cordons) || stop "nodes cannot be read"
        found=$(printf '%s\n' "$found" | awk -F'|' -v node="$2" '$1 == node')
        [ -n "$found" ] || stop "node $2 is not there any more"
        found=${found#*\|}
        ! is_at_work "${found##*\|}" || stop "$2 has been changed by $(named_holder "${found##*\|}")"
        version=${found%%\|*} found=${found#*\|}
        [ "${found%%\|*}" != true ] || return 0
        [ -n "$DRY_RUN" ] || is_cordoned "$2" || CORDONED="$CORDONED$2
"
        mark="\"resourceVersion\":\"$version\",\"annotations\":{\"planner/cordoned-for\":\"$1\",\"planner/by\":\"$HOLDER\"}"
        if patch node "$2" --type=merge -p "{\"metadata\":{$mark},\"spec\":{\"unschedulable\":true}}" >/dev/null; then
            fresh="$fresh $2"
            [ -z "$DRY_RUN" ] || ASKED="$ASKED$2
"
            return 0
        fi
        [ "$attempt" -eq 5 ] || sleep 1
    done
    stop "$2 could not be cordoned"
}

# One node is open again, if it was cordoned by such a script, and no other one is at work on it.
open_node() {
    mark=$(read_cordons) || return 1
    mark=$(printf '%s\n' "$mark" | awk -F'|' -v node="$1" '$1 == node { print $4 "|" $6 }')
    if [ -n "${mark%%\|*}" ] && ! is_at_work "${mark#*\|}"; then
        k patch node "$1" --type=merge \
            -p '{"metadata":{"annotations":{"planner/cordoned-for":null,"planner/by":null}},"spec":{"unschedulable":null}}' >/dev/null || return 1
    fi
}

# All of them but NODE,NODE...: true when they are.  OPENED are those that are open now.
open_nodes() {
    closed='' OPENED='' still=''
    for node in $CORDONED; do
        case ",${1-}," in
        *",$node,"*)
            closed="$closed$node
"
            ;;
        *)
            if open_node "$node"; then OPENED="$OPENED $node"; else
                still=$node closed="$closed$node
"
            fi
            ;;
        esac
    done
    CORDONED=$closed
    [ -z "$still" ]
}

# A few names, or how many there are: NODE...
few_nodes() {
    if [ $# -gt 6 ]; then printf '%s nodes' $#; else printf '%s' "$*"; fi
}
