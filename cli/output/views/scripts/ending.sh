# ---- Pods on their way out: what comes next waits until they are gone from the API server --------
#
# Until then they hold their room, host ports and volumes.  They are told by their uid, because the
# replacement that a StatefulSet makes has the same name.  How long they may take is their grace period,
# as it is in the cluster, and GRACE_MARGIN, from the moment at which this script first sees them like that.

GRACE_MARGIN=${GRACE_MARGIN:-60}
ENDING='' # evicted pods that are still there: NAMESPACE|POD|UID|NODE|GRACE|GRACE OF THE SPEC|FINALIZERS, one a line
SINCE=''  # when each of them was seen first: UID|SECOND
WAITING_TOLD='' # when it was last said: SECOND

GRACE_FIELDS='{.metadata.deletionGracePeriodSeconds}|{.spec.terminationGracePeriodSeconds}|{.metadata.finalizers[*]}'

# Sets ENDING to those of some pods that are still on their way out; one list a namespace, and with pods
# that have run to their end: NAMESPACE|POD|UID|NODE, one a line
read_ending() {
    line="{.metadata.name}|{.metadata.uid}|{.spec.nodeName}|$GRACE_FIELDS"
    read=''
    for namespace in $(printf '%s\n' "$1" | awk -F'|' 'NF && !seen[$1]++ { print $1 }'); do
        read_more pods -n "$namespace" \
            -o "jsonpath={range .items[?(@.metadata.deletionTimestamp)]}$namespace|$line{'\n'}{end}" || return 1
    done
    ENDING=$(printf '%s\n' "$1" "---" "$read" | awk -F'|' '
        $1 == "---" { listed = 1; next }
        !listed { uid[$1 "/" $2] = uid[$1 "/" $2] " " $3; node[$1 "/" $2] = $4; next }
        NF && ($1 "/" $2) in uid {
            id = $1 "/" $2
            if (uid[id] == " " ? node[id] == "" || node[id] == $4 : index(uid[id] " ", " " $3 " ")) print
        }')
}

# True while there are pods in ENDING; one that takes too long ends the script.
are_ending() {
    now=$(date +%s)
    found=$(printf '%s\n' "$SINCE" "---" "$ENDING" | awk -F'|' -v now="$now" -v margin="$GRACE_MARGIN" '
        $1 == "---" { listed = 1; next }
        !listed { since[$1] = $2; next }
        NF {
            if (!($3 in since)) since[$3] = now
            past = now - since[$3]; grace = ($5 > $6 + 0 ? $5 : $6) + 0; pod = $1 "/" $2 " on " $4
            print "S|" $3 "|" since[$3]
            if (past >= grace + margin)
                print "L|" $4 "|" pod " is still terminating after " past " s (grace period " grace " s)" ($7 == "" ? "" : ", finalizers: " $7)
            if (past > longest) longest = past
            if (grace + margin > most) most = grace + margin
            if (++count <= 3) pods = pods (count > 1 ? ", " : "") pod
        }
        END {
            if (count) print "W|" longest + 0 "|waiting for " count (count == 1 ? " pod" : " pods") " to end, for " longest + 0 " s, at most " most " s: " pods (count > 3 ? ", and " count - 3 " more" : "")
        }')
    SINCE=$(printf '%s\n' "$found" | sed -n 's/^S|//p')
    [ -n "$SINCE" ] || return 1
    late=$(printf '%s\n' "$found" | sed -n 's/^L|//p')
    [ -z "$late" ] || stop_for_late "$late"
    tell_waiting "$(printf '%s\n' "$found" | sed -n 's/^W|//p')"
}

# Says what is waited for, after a second and then every ten of them: SECONDS|WORDS
tell_waiting() {
    [ "${1%%\|*}" -gt 0 ] || {
        WAITING_TOLD=''
        return 0
    }
    if [ -z "$WAITING_TOLD" ] || [ "$((now - WAITING_TOLD))" -ge 10 ]; then
        WAITING_TOLD=$now
        complain "${1#*\|}"
    fi
}

# The line that says which pods do not end: NODE|WORDS, one a line
stop_for_late() {
    words=$(printf '%s\n' "$1" | sed 's/^[^|]*|//')
    complain "stopped: $(first_of "$words" pod)$(state_of_node "${1%%\|*}");" \
        "when it has ended start this again, or plan again: $AGAIN"
    exit 1
}

# Why the pods of a node may never end, if it is the node.
state_of_node() {
    is_ready=$(k get nodes --field-selector="metadata.name=$1" \
        -o "jsonpath={range .items[*]}is{.status.conditions[?(@.type=='Ready')].status}{end}" 2>/dev/null) || return 0
    case $is_ready in
    isTrue | is) ;;
    '') printf ', its node is not there any more' ;;
    *) printf ', its node is not ready' ;;
    esac
}

# Waits until pods that were evicted are gone: NAMESPACE|POD|UID|NODE, one a line
await_gone() {
    rest=$1
    begin_waiting
    while [ -n "$rest" ]; do
        if read_ending "$rest"; then
            rest=$ENDING
            are_ending || return 0
            begin_waiting
        else
            [ "$waited" -lt "$TIMEOUT" ] || stop "the pods cannot be read: $TROUBLE"
        fi
        wait_more
    done
}
