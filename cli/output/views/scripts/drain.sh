# ---- Draining: all nodes are cordoned, then wave by wave pods are evicted and waited for ---------
#
# Nothing is remembered between two looks, so it does not matter when this was interrupted.  A node that
# was cordoned here has the annotation planner/drain, so that it can be opened again after a KILL, and planner/by as
# long as this script is at work.

MARK=planner/drain

# The plan as a table; what is written above as commands becomes its rows.
fresh() { printf 'F|%s|%s\n' "$@"; }
wave() { WAVE=$1; }
drains() { printf 'D|%s|%s\n' "$WAVE" "$1"; }
goes() { printf 'G|%s|%s|%s|%s|%s\n' "$WAVE" "$@"; }
owner() { printf 'O|%s|%s|%s|%s|%s\n' "$WAVE" "$@"; }
returns() { printf 'R|%s|%s\n' "$@"; }

nodes_of_wave() { rows D | sed -n "s/^$1|//p"; }

# Every node that is to be drained: N|NAME|UID|CORDONED|MARK|BY WHICH SCRIPT
read_nodes() {
    line="N|{.metadata.name}|{.metadata.uid}|{.spec.unschedulable}|{.metadata.annotations.planner/drain}"
    line="$line|{.metadata.annotations.planner/by}"
    found=$(k get nodes -o "jsonpath={range .items[*]}$line{'\n'}{end}" 2>&1) || {
        TROUBLE=$(one_line "$found")
        return 1
    }
    NODES=$(printf '%s\n' "$PLAN" "$found" | awk -F'|' '$1 == "D" { drained[$3] = 1 } $1 == "N" && NF == 6 && $2 in drained')
}

# A node that is gone is empty.  One that was open is open, or cordoned by such a script.
check_nodes_to_drain() {
    wrong=$(printf '%s\n' "$NODES" "---" "$PLAN" | awk -F'|' '
        $1 == "---" { planned = 1 }
        $1 == "N" && !planned { uid[$2] = $3; cordoned[$2] = $4 == "true"; marked[$2] = $5 != "" }
        $1 == "N" && planned && $2 in uid && !marked[$2] {
            if ($3 != "" && uid[$2] != $3) print "node " $2 " has been made anew"
            else if (cordoned[$2] != ($4 == "cordoned")) print "node " $2 " is " (cordoned[$2] ? "" : "not ") "cordoned"
        }')
    [ -z "$wrong" ] || stop "$(first_of "$wrong" node); nothing was changed"
}

# Planned for a supposed cluster, there are rows of other nodes as well.
check_other_nodes() {
    others=$(printf '%s\n' "$PLAN" "---" "$PLAN" | awk -F'|' '
        $1 == "---" { again = 1 }
        $1 == "D" && !again { drained[$3] = 1 }
        again && ($1 == "A" || $1 == "N" && !($2 in drained))')
    [ -z "$others" ] || (PLAN=$others && check_nodes) || exit $?
}

# As many nodes with the labels of the first one as there were, and the new ones.
check_fresh() {
    found=$(rows F)
    while IFS='|' read -r number selector; do
        [ -n "$number" ] || continue
        there=$(k get nodes -l "$selector" -o name 2>&1) || refuse "nodes cannot be read: $(one_line "$there")"
        there=$(printf '%s\n' "$there" | grep -c '^node/')
        [ "$there" -ge "$number" ] || stop "$there of the $(counted "$number" node) with the labels $selector that are needed before; nothing was changed"
    done <<END
$found
END
}

# The pods on some nodes: P|NODE|NAMESPACE|NAME|UID|DELETED|KIND/NAME|MIRROR|PHASE|GRACE|GRACE OF THE SPEC|FINALIZERS
read_pods() {
    line="{.spec.nodeName}|{.metadata.namespace}|{.metadata.name}|{.metadata.uid}|{.metadata.deletionTimestamp}"
    line="$line|{.metadata.ownerReferences[?(@.controller==true)].kind}/{.metadata.ownerReferences[?(@.controller==true)].name}"
    line="$line|{.metadata.annotations.kubernetes\\.io/config\\.mirror}|{.status.phase}|$GRACE_FIELDS"
    read=''
    for node; do
        read_more pods --all-namespaces --field-selector="spec.nodeName=$node" \
            -o "jsonpath={range .items[*]}P|$line{'\n'}{end}" || return 1
    done
    PODS=$read TROUBLE=''
}

# Of the pods that were read:  here|NODE|NAMESPACE|POD|UID  is to go,  E|a row of ENDING  is going, whatever deleted it,
# back|NAMESPACE/POD  tolerates the cordon and was made again here,  ?|...  is not as planned.
assess() {
    printf '%s\n' "$PLAN" "$PODS" | awk -F'|' '
        $1 == "G" { planned[$4 "/" $5] = 1; uid[$4 "/" $5] = $6 }
        $1 == "R" { back[$2 "/" $3] = 1 }
        $1 == "P" && $7 !~ /^DaemonSet\// && $8 == "" {
            id = $3 "/" $4
            if ($6 != "") print "E|" $3 "|" $4 "|" $5 "|" $2 "|" $10 "|" $11 "|" $12
            else if ($9 == "Succeeded" || $9 == "Failed") next
            else if (id in planned && (uid[id] == "" || uid[id] == $5)) print "here|" $2 "|" $3 "|" $4 "|" $5
            else if (($3 "/" $7) in back) print "back|" id
            else print "?|" id " is new on " $2 ", and not by this plan"
        }'
}

# What is read of the controllers of a wave: NAMESPACE RESOURCE,RESOURCE... a line
controllers_of_wave() {
    rows O | awk -F'|' -v wave="$1" '
        $1 == wave && !seen[$2, $5]++ { kinds[$2] = kinds[$2] (kinds[$2] == "" ? "" : ",") $5 }
        END { for (namespace in kinds) print namespace, kinds[namespace] }'
}

# Sets BEHIND to the controllers of the wave that have fewer ready pods than before, and what the API server said
# when they last made one: NAMESPACE KIND/NAME HAS of WANTED ready.  What controllers say of themselves is late while
# the controller manager is: where all have enough, their pods are counted.  SPARE: how many of their pods need not be
# ready: S|NAMESPACE|KIND/NAME|PODS
read_behind() {
    BEHIND='' SPARE=''
    for counted_in in status pods; do
        read=''
        found=$(controllers_of_wave "$1")
        while read -r namespace kinds; do
            [ -n "$namespace" ] || continue
            read_controllers "$namespace" "$kinds" || return 1
            [ "$counted_in" = status ] || read_ready "$namespace" || return 1
        done <<END
$found
END
        found=$(printf '%s\n' "$read" "$PLAN" | awk -F'|' -v wave="$1" -v counted_in="$counted_in" '
            $1 == "C" { wanted[$2 " " $3] = $4; ready[$2 " " $3] = counted_in == "status" ? $5 + 0 : 0; why[$2 " " $3] = $6 }
            $1 == "P" && $4 == "" && $5 == "True" { ready[$2 " " $3]++ }
            $1 == "O" && $2 == wave && ($3 " " $4) in wanted {
                owner = $3 " " $4; least = $5 < wanted[owner] + 0 ? $5 : wanted[owner] + 0
                sub(/^[^"]*"[^"]*" is /, "", why[owner]) # the name of the pod is another one every time
                if (ready[owner] < least) {
                    print "S|" $3 "|" $4 "|" wanted[owner] - least
                    print owner " " ready[owner] " of " least " ready" (why[owner] == "" ? "" : ", no pod is made: " why[owner])
                }
            }')
        SPARE=$(printf '%s\n' "$found" | grep '^S|')
        BEHIND=$(printf '%s\n' "$found" | grep -v '^S|')
        [ -z "$BEHIND" ] || return 0
    done
}

# C|NAMESPACE|KIND/NAME|WANTED|READY|WHY NO POD IS MADE
read_controllers() {
    line="{.kind}/{.metadata.name}|{.spec.replicas}|{.status.readyReplicas}"
    line="$line|{.status.conditions[?(@.type=='ReplicaFailure')].message}"
    read_more "$2" -n "$1" -o "jsonpath={range .items[*]}C|$1|$line{'\n'}{end}"
}

# Pods that have not run to their end: P|NAMESPACE|KIND/NAME of the controller|DELETED|READY|POD|NODE
read_ready() {
    by='.metadata.ownerReferences[?(@.controller==true)]'
    line="{$by.kind}/{$by.name}|{.metadata.deletionTimestamp}|{.status.conditions[?(@.type=='Ready')].status}"
    line="$line|{.metadata.name}|{.spec.nodeName}"
    read_more pods -n "$1" --field-selector='status.phase!=Succeeded,status.phase!=Failed' \
        -o "jsonpath={range .items[*]}P|$1|$line{'\n'}{end}"
}

# Cordons a node, and says so on it first, in one change.
# One that is gone meanwhile is empty.
cordon() {
    change="{\"metadata\":{\"annotations\":{\"$MARK\":\"was:open\",\"planner/by\":\"$HOLDER\"}},\"spec\":{\"unschedulable\":true}}"
    answer=$(patch node "$1" --type=merge -p "$change" 2>&1) && return 0
    case $answer in
    *"(NotFound)"*) say "$1 is not there any more" ;;
    *) stop "$1 could not be cordoned: $(one_line "$answer")" ;;
    esac
}

cordon_all() {
    found=$(printf '%s\n' "$NODES" "---" "$PLAN" | awk -F'|' '
        $1 == "---" { planned = 1 }
        $1 == "N" && !planned { cordoned[$2] = $4 == "true"; marked[$2] = $5 != "" }
        $1 == "N" && planned && $2 in cordoned && (!cordoned[$2] || marked[$2]) { print $2 }')
    for node in $found; do cordon "$node"; done
}

# The wave is over when its nodes are empty, and what was made again for their pods is ready.
drain_wave() {
    before='' told='' missing='' left=''
    begin_waiting
    # shellcheck disable=SC2046 # names of nodes are words
    set -- "$1" $(nodes_of_wave "$1")
    number=$1
    shift
    while :; do
        if read_pods "$@"; then
            STATE=$(assess)
            wrong=$(printf '%s\n' "$STATE" | sed -n 's/^?|//p')
            [ -z "$wrong" ] || stop "$(first_of "$wrong" pod)"
            left=$(printf '%s\n' "$STATE" | sed -n 's/^here|//p')
            ENDING=$(printf '%s\n' "$STATE" | sed -n 's/^E|//p')
            [ -z "$left$ENDING" ] || [ -n "$told" ] || say "wave $number of $WAVES: $*"
            told=yes
            missing=''
            if [ -z "$left$ENDING" ] && read_behind "$number"; then
                missing=$BEHIND
                [ -n "$missing" ] || return 0
            fi
            [ "$left$ENDING$missing" = "$before" ] || begin_waiting
            before=$left$ENDING$missing
            evict_all
            if are_ending; then begin_waiting; fi
            if is_told_again; then
                stop_if_node_is_lost
                tell_awaited
            fi
        fi
        [ "$waited" -lt "$TIMEOUT" ] || {
            tell_without_node
            stop "nothing has happened for $TIMEOUT seconds${TROUBLE:+: $TROUBLE}${missing:+: $(first_of "$missing" controller)}${left:+: $(first_of "$(named "$left")" pod)}"
        }
        wait_more
    done
}

# What the wave waits for: pods that are still to go, or controllers with too few that are ready.
tell_awaited() {
    if [ -n "$left" ]; then tell_idle "$(named "$left")" pod; else tell_idle "${missing:-$TROUBLE}" controller; fi
    tell_without_node
}

# A pod that is bound to a node which is lost does not become ready there.  That ends it where a controller has too few
# without such pods; a StatefulSet makes none in place of one that is terminating there, either.
stop_if_node_is_lost() {
    [ -n "$missing" ] || return 0
    read=''
    for namespace in $(printf '%s\n' "$SPARE" | awk -F'|' '!seen[$2]++ { print $2 }'); do
        read_ready "$namespace" || return 0
    done
    unready=$(printf '%s\n' "$SPARE" "$read" | awk -F'|' '
        $1 == "S" { spare[$2 "|" $3] = $4 }
        $1 == "P" && ($2 "|" $3) in spare && $5 != "True" && $7 != "" && ($4 == "" || $3 ~ /^StatefulSet\//) {
            print $2 "/" $6 "|" $7 "|" $2 "/" $3 "|" spare[$2 "|" $3]
        }')
    lost=$(on_lost_nodes "$unready" | awk -F'|' '
        { words[NR] = $1; owner[NR] = $2; count[$2]++; spare[$2] = $3 }
        END { for (i = 1; i <= NR; i++) if (count[owner[i]] > spare[owner[i]]) print words[i] }')
    [ -z "$lost" ] || stop "$(first_of "$lost" pod)"
}

# Why controllers that have too few have pods without a node, as the scheduler tells, or make none.
tell_without_node() {
    by='.metadata.ownerReferences[?(@.controller==true)]'
    line="{$by.kind}/{$by.name}|{.spec.nodeName}|{.metadata.name}|{.status.conditions[?(@.type=='PodScheduled')].message}"
    printf '%s\n' "$missing" | while read -r namespace owner _; do
        [ -n "$owner" ] || continue
        k get pods -n "$namespace" -o "jsonpath={range .items[*]}$line{'\n'}{end}" 2>/dev/null |
            awk -F'|' -v namespace="$namespace" -v owner="$owner" '
                $1 == owner && $2 == "" { if (!count++) { pod = $3; why = $4 } }
                END { if (count) print namespace "/" pod " has no node" (count > 1 ? ", and " count - 1 " more of " owner : "") ": " why }' >&2
        tell_none_is_made "$namespace" "$owner"
    done
}

# Why a StatefulSet that lacks pods makes none: its status does not say it, as that of a ReplicaSet does: NAMESPACE OWNER
tell_none_is_made() {
    case $2 in StatefulSet/*) ;; *) return 0 ;; esac
    number=$(k get statefulsets.apps -n "$1" --field-selector="metadata.name=${2#*/}" \
        -o 'jsonpath={range .items[*]}{.spec.replicas}|{.status.replicas}{end}' 2>/dev/null)
    [ "${number%%\|*}" -gt "${number#*\|}" ] 2>/dev/null || return 0
    why=$(why_none_is_made "$1" "$2")
    [ -z "$why" ] || complain "no pod of $2 in $1 is made: $why"
}

named() { printf '%s\n' "$1" | awk -F'|' '{ print $2 "/" $3 " has to leave " $1 }'; }

evict_all() {
    while IFS='|' read -r node namespace pod uid; do
        [ -n "$pod" ] || continue
        if evict "$namespace" "$pod" "$uid"; then
            say "evicted $namespace/$pod from $node"
            begin_waiting
        fi
    done <<END
$left
END
}

# Nodes that are not empty are opened again; those that are empty stay as they are.
put_back() {
    [ -z "$DONE" ] || return 0
    open=$(patiently marked_nodes 2>/dev/null) || complain "whether all nodes are open that were is not known: start this again"
    kept=''
    for node in $open; do
        if read_pods "$node" 2>/dev/null && [ -z "$(assess | sed -n '/^here|/p;/^E|/p')" ]; then
            kept="$kept $node"
            release_nodes "$node"
            continue
        fi
        patiently unmark "$node" '"spec":{"unschedulable":null},' 2>/dev/null ||
            complain "$node is still cordoned: start this again, or kubectl uncordon $node"
    done
    [ -z "$kept" ] || complain "what is empty stays cordoned; it is opened by:" \
        "$(in_context "$KUBECTL") uncordon$kept; $(in_context "$KUBECTL") annotate node$kept $MARK-"
}

# Nodes that this script has cordoned, or a killed one, and that no other one has taken over.
marked_nodes() {
    read_nodes || return 1
    printf '%s\n' "$NODES" | awk -F'|' '$5 != "" { print $2 "|" $6 }' | while IFS='|' read -r node holder; do
        is_at_work "$holder" || echo "$node"
    done
}

unmark() {
    k patch node "$1" --type=merge -p "{$2\"metadata\":{\"annotations\":{\"$MARK\":null,\"planner/by\":null}}}" >/dev/null
}

check_draining() {
    need '' list nodes
    need '' get nodes # kubectl reads what it patches
    need '' patch nodes
    need '' list pods
    for namespace in $(rows G | awk -F'|' '!seen[$3]++ { print $3 }'); do
        need "$namespace" create pods eviction
    done
    found=$(rows O | awk -F'|' '!seen[$2, $5]++ { print $2, $5 }')
    while read -r namespace kind; do
        [ -z "$namespace" ] || need "$namespace" list "$kind"
    done <<END
$found
END
    check_rights
}

# Asks the API server about every change that is still to be made.
rehearse() {
    cordon_all
    left=$(printf '%s\n' "$STATE" | sed -n 's/^here|//p')
    while IFS='|' read -r node namespace pod uid; do
        [ -n "$pod" ] || continue
        if evict "$namespace" "$pod" "$uid"; then say "$namespace/$pod would go from $node"; fi
    done <<END
$left
END
    pods=$(counted "$(printf '%s\n' "$left" | grep -c .)" pod)
    say "dry run: $pods would go from $(counted "$(rows D | grep -c .)" node)"
}

# Looks at all nodes and what is on them, and again while they cannot be read.
look_at_the_end() {
    begin_waiting
    # shellcheck disable=SC2046 # names of nodes are words
    until read_nodes && read_pods $(printf '%s\n' "$NODES" | awk -F'|' '{ print $2 }'); do
        [ "$waited" -lt "$TIMEOUT" ] || stop "the nodes cannot be read: $TROUBLE"
        wait_more
    done
}

# In the end every node that is still there is cordoned, which another user may have changed meanwhile, and empty, but
# for pods that tolerate the cordon and were made again there.
finish() {
    look_at_the_end
    open=$(printf '%s\n' "$NODES" | awk -F'|' 'NF && $4 != "true" { print "node " $2 " is not cordoned any more" }')
    [ -z "$open" ] || stop "$(first_of "$open" node)"
    STATE=$(assess)
    wrong=$(printf '%s\n' "$STATE" | sed -n 's/^?|//p')
    [ -z "$wrong" ] || stop "$(first_of "$wrong" pod)"
    trap '' HUP INT TERM # all is done; what remains is to say so
    DONE=yes
    for node in $(printf '%s\n' "$NODES" | awk -F'|' '$5 != "" { print $2 }'); do
        patiently unmark "$node" '' 2>/dev/null || complain "the annotations $MARK and planner/by are still on $node"
    done
    emptied=$(printf '%s\n' "$NODES" | grep -c .)
    say "done: $(counted "$emptied" node) $([ "$emptied" -eq 1 ] && printf is || printf are) empty, and cordoned$(besides)"
}

# What is to be said of some nodes: pods that are back on them, and those that are gone.
besides() {
    back=$(printf '%s\n' "$STATE" | grep -c '^back|')
    [ "$back" -eq 0 ] || printf ', but for pods that tolerate that: %s' "$back"
    gone=$(printf '%s\n' "$NODES" "$PLAN" | awk -F'|' '
        $1 == "N" && NF == 6 { there[$2] = 1 }
        $1 == "D" && !($3 in there) { print "node " $3 " is not there any more" }')
    [ -z "$gone" ] || printf '; %s' "$(first_of "$gone" node)"
}

main() {
    options "$@"
    PLAN=$(plan)
    WAVES=$(rows D | awk -F'|' 'END { print $1 }')
    TROUBLE='' DONE=''
    check_cluster
    check_draining
    read_nodes || refuse "the nodes cannot be read: $TROUBLE"
    # shellcheck disable=SC2046 # names of nodes are words
    read_pods $(printf '%s\n' "$NODES" | awk -F'|' '{ print $2 }') || refuse "the pods cannot be read: $TROUBLE"
    STATE=$(assess)
    wrong=$(printf '%s\n' "$STATE" | sed -n 's/^?|//p')
    [ -z "$wrong" ] || stop "$(first_of "$wrong" pod); nothing was changed"
    check_nodes_to_drain
    check_other_nodes
    refuse_if_held "$(printf '%s\n' "$NODES" | awk -F'|' 'NF { print "node " $2 "|" $6 }')"
    check_budgets
    [ -n "$(printf '%s\n' "$NODES" | awk -F'|' '$5 != ""')" ] || check_fresh
    if [ -n "$DRY_RUN" ]; then
        rehearse
        exit 0
    fi
    guard
    cordon_all
    for number in $(rows D | awk -F'|' '!seen[$1]++ { print $1 }'); do drain_wave "$number"; done
    finish
}
