# ---- What every script of the planner does alike ----------------------------------------------

# Where a stream is closed, the next file that is opened would be taken for it.
true 3>&2 || exec 2>/dev/null
{ true 3>&1; } 2>/dev/null || exec >/dev/null

KUBECTL=${KUBECTL:-kubectl}
TIMEOUT=${TIMEOUT:-600}
DRY_RUN='' TAKE_OVER=''

say() { printf '%s\n' "$*"; }
complain() { printf '%s\n' "$*" >&2; }

# Lines as one, without those of kubectl's log, which repeats itself; the last of them where there are no others.
one_line() {
    kept=$(printf '%s\n' "$*" | grep -v '^[EFIW][0-9]\{4\} ') || kept=$(printf '%s\n' "$*" | tail -n 1)
    printf '%s' "$kept" | tr '\n' ' ' | sed 's/ *$//'
}

counted() { printf '%s %s' "$1" "$2"; [ "$1" -eq 1 ] || printf s; }

# kubectl for this cluster; nothing on standard input.
k() { k_given "$@" </dev/null; }
k_given() { "$KUBECTL" ${CONTEXT:+"--context=$CONTEXT"} --request-timeout=60s "$@"; }

# A command for this cluster, as it is typed: WORDS
in_context() {
    printf '%s' "${ELSEWHERE-}"
    case $CONTEXT in
    '') printf '%s' "$1" ;;
    *[!A-Za-z0-9@%+=:,./_-]*) printf "%s --context='%s'" "$1" "$(printf '%s\n' "$CONTEXT" | sed "s/'/'\\\\''/g")" ;;
    *) printf '%s --context=%s' "$1" "$CONTEXT" ;;
    esac
}

# Adds to `read` what kubectl gets, or sets TROUBLE to why it does not: ARGUMENTS...
read_more() {
    more=$(k get "$@" 2>&1) || {
        TROUBLE=$(one_line "$more")
        return 1
    }
    read="$read$more
"
}

# Changes objects, or only asks whether the API server would.
patch() { k patch "$@" ${DRY_RUN:+--dry-run=server}; }

# The plan as a table: what is written above as commands becomes its rows.  These are in every plan.
node() { printf 'N|%s|%s|%s|%s\n' "$1" "$2" "$3" "${4-}"; }
absent() { printf 'A|%s\n' "$1"; }
budget() { printf 'B|%s|%s|%s|%s\n' "$@"; }

# The rows of a kind, without that: KIND
rows() { printf '%s\n' "$PLAN" | sed -n "s/^$1|//p"; }

# Before anything is changed: another start will not help.
refuse() {
    complain "refused, nothing was changed: $*"
    exit 2
}

# The cluster is not as planned: WHY
stop() {
    complain "stopped: $*; plan again: $AGAIN"
    exit 1
}

usage() {
    sed -n '2,/^set -u/{/^#/!d;s/^# \{0,1\}//;p;}' "$0"
}

options() {
    for word; do
        case $word in
        --dry-run) DRY_RUN=yes ;;
        --take-over) TAKE_OVER=yes ;;
        -h | --help)
            usage
            exit 0
            ;;
        *) refuse "$word: only --dry-run, --take-over and --help are understood" ;;
        esac
    done
}

# The cluster of the plan, and no other.
check_cluster() {
    command -v "$KUBECTL" >/dev/null || refuse "$KUBECTL cannot be found"
    if [ -n "$CLUSTER" ]; then
        found=$(k get namespace kube-system -o 'jsonpath={"\n"}U|{.metadata.uid}{"\n"}' 2>&1) ||
            refuse "the cluster cannot be told: $(one_line "$found")"
        found=$(printf '%s\n' "$found" | sed -n 's/^U|//p')
        [ "$found" = "$CLUSTER" ] || refuse "another cluster: its kube-system is $found, the plan's $CLUSTER"
    fi
}

# Notes what may not be done: NAMESPACE VERB RESOURCE [SUBRESOURCE]
MISSING='' GRANTED=''
need() {
    case $GRANTED in *" $2 $3/${4-} "*) return 0 ;; esac
    if may "$2" "$3" ${4:+"--subresource=$4"} --all-namespaces; then
        GRANTED="$GRANTED $2 $3/${4-} "
    elif [ -z "$1" ] || ! may "$2" "$3" ${4:+"--subresource=$4"} "--namespace=$1"; then
        MISSING="$MISSING, $2 $3${4:+/$4}${1:+ in $1}"
    fi
}

# Whether this user may do something; where there is no answer, that ends the script.
may() {
    found=$(k auth can-i "$@" 2>&1) && return 0
    printf '%s\n' "$found" | grep -q '^no' || refuse "what this user may do cannot be told: $(one_line "$found")"
    return 1
}

# When this script began, as the API server writes times.
BEGAN=$(date -u +%Y-%m-%dT%H:%M:%SZ)

# Why a controller makes no pod, in the words of the API server: NAMESPACE KIND/NAME
# StatefulSets and Jobs tell it by events alone; this user need not be allowed to read them.
why_none_is_made() {
    why=$(k get "$2" -n "$1" -o "jsonpath={.status.conditions[?(@.type=='ReplicaFailure')].message}" 2>/dev/null)
    [ -n "$why" ] || why=$(k get events -n "$1" \
        --field-selector="reason=FailedCreate,involvedObject.kind=${2%%[./]*},involvedObject.name=${2#*/}" \
        -o 'jsonpath={range .items[*]}{.lastTimestamp}|{.message}{"\n"}{end}' 2>/dev/null |
        awk -F'|' -v began="$BEGAN" '$1 >= began { sub(/^[^|]*[|]/, ""); last = $0 } END { print last }')
    printf '%s' "$why"
}

# Why a pod has no node, as the scheduler tells: NAMESPACE POD
why_no_node() {
    why=$(k get pod "$2" -n "$1" -o "jsonpath={.status.conditions[?(@.type=='PodScheduled')].message}" 2>/dev/null)
    printf '%s' "${why:+: $why}"
}

check_rights() {
    [ -z "$MISSING" ] || refuse "this user may not${MISSING#,}"
}

# The nodes of the plan are there, and open or cordoned as they were, or cordoned by such a script; those that are
# supposed to be gone are not.
check_nodes() {
    marks='{.metadata.annotations.planner/cordoned-for}{.metadata.annotations.planner/going}'
    line="N|{.metadata.name}|{.metadata.uid}|{.spec.unschedulable}|$marks"
    found=$(k get nodes -o "jsonpath={range .items[*]}$line{'\n'}{end}" 2>&1) ||
        refuse "nodes cannot be read: $(one_line "$found")"
    wrong=$(printf '%s\n' "$found" "---" "$PLAN" | awk -F'|' '
        $1 == "---" { planned = 1 }
        $1 == "N" && !planned { uid[$2] = $3; cordoned[$2] = $4 == "true"; ours[$2] = $5 != "" }
        $1 == "N" && planned {
            if (!($2 in uid) || ($3 != "" && uid[$2] != $3)) print "node " $2 " is not there any more"
            else if ($4 == "cordoned" ? !cordoned[$2] : cordoned[$2] && !ours[$2])
                print "node " $2 " is " (cordoned[$2] ? "" : "not ") "cordoned"
        }
        $1 == "A" && planned && $2 in uid { print "node " $2 " is still there" }')
    [ -z "$wrong" ] || stop "$(first_of "$wrong" node); nothing was changed"
}

# The budgets of the plan say what they said.
check_budgets() {
    for namespace in $(printf '%s\n' "$PLAN" | awk -F'|' '$1 == "B" && !seen[$2]++ { print $2 }'); do
        line='B|{.metadata.name}|{.spec.minAvailable}|{.spec.maxUnavailable}'
        found=$(k get poddisruptionbudgets -n "$namespace" -o "jsonpath={range .items[*]}$line{'\n'}{end}" 2>&1) ||
            refuse "budgets cannot be read: $(one_line "$found")"
        wrong=$(printf '%s\n' "$found" "---" "$PLAN" | awk -F'|' -v namespace="$namespace" '
            $1 == "---" { planned = 1 }
            $1 == "B" && !planned { now[$2] = $3 "|" $4 }
            $1 == "B" && planned && $2 == namespace {
                if (now[$3] != $4 "|" $5) print "budget " namespace "/" $3 " has changed"
            }')
        [ -z "$wrong" ] || stop "$(first_of "$wrong" budget); nothing was changed"
    done
}

# `the first, and 3 more pods` of several lines: LINES NOUN
first_of() {
    printf '%s\n' "$1" | awk -v noun="$2" '
        NR == 1 { first = $0 }
        END { print first (NR > 1 ? ", and " NR - 1 " more " noun (NR > 2 ? "s" : "") : "") }'
}

# How long nothing has happened, in seconds of the clock: an answer of kubectl may take some of them.
begin_waiting() { IDLE_SINCE=$(date +%s) waited=0 TELL_AT=10; }
wait_more() {
    sleep "${1:-1}" 2>/dev/null || sleep 1
    waited=$(($(date +%s) - IDLE_SINCE))
}

# Whether it is time to say what is waited for: after ten seconds in which nothing has happened, then every thirty.
is_told_again() {
    [ "$waited" -ge "$TELL_AT" ] && [ "$waited" -lt "$TIMEOUT" ] || return 1
    TELL_AT=$((waited + 30))
}

# Says what is waited for: LINES NOUN
tell_idle() { complain "waiting for $waited s, at most $TIMEOUT s: $(first_of "$1" "$2")"; }

# Why pods do not become ready, of those whose node is lost: not ready, or gone: NAMESPACE/POD|NODE, or with more fields,
# one a line.  Words in place of the pod and the node; nothing where the nodes cannot be read just now.
on_lost_nodes() {
    [ -n "$1" ] || return 0
    known=$(k get nodes -o "jsonpath={range .items[*]}{.metadata.name}|{.spec.taints[*].key}{'\n'}{end}" 2>/dev/null) || return 0
    printf '%s\n' "$known" "---" "$1" | awk -F'|' -v OFS='|' '
        $1 == "---" { listed = 1; next }
        !listed { there[$1] = 1; away[$1] = $2 ~ /node.kubernetes.io.(not-ready|unreachable)/; next }
        ($2 in there) && !away[$2] { next }
        {
            words = $1 " does not become ready: its node " $2 " is not " (away[$2] ? "ready" : "there any more")
            sub(/^[^|]*[|][^|]*/, "")
            print words $0
        }'
}

# Nodes: NAME|RESOURCE VERSION|CORDONED|FOR WHICH POD|TAINTS|BY WHICH SCRIPT; all, or those of a selector
read_cordons() {
    line='{.metadata.name}|{.metadata.resourceVersion}|{.spec.unschedulable}|{.metadata.annotations.planner/cordoned-for}'
    line="$line|{range .spec.taints[*]}{.key}={.value}:{.effect} {end}|{.metadata.annotations.planner/by}"
    k get nodes "$@" -o "jsonpath={range .items[*]}$line{'\n'}{end}"
}

CLOSED_SINCE='cordoned, tainted, not ready or gone since the plan was made'

# Which of some nodes may take pods: those that are there and ready, and that no other user has cordoned or tainted since
# the plan was made, one a line: ROWS-OF-READ_CORDONS NODE,NODE...
open_among() {
    # Thousands of names are too much for an argument of a program.
    printf '%s\n' "$PLAN" "---" "$1" "---" "$2" | awk -F'|' '
        # Whether a taint keeps pods off that the plan knows to be kept off by none, or a node is lost.
        function is_tainted(node, taints,    found, i) {
            split(taints, found, " ")
            for (i in found) {
                if (found[i] ~ /^node.kubernetes.io.(not-ready|unreachable)=/) return 1
                if (found[i] ~ /^node.kubernetes.io.unschedulable=/ || found[i] !~ /:No/) continue
                if (node in known && index(" " known[node] " ", " " found[i] " ") == 0) return 1
            }
            return 0
        }
        $1 == "---" { listed++; next }
        !listed { if ($1 == "N") { known[$2] = $5; was_cordoned[$2] = $4 == "cordoned" } next }
        listed == 2 { names = $0; next }
        { takes[$1] = !is_tainted($1, $5); cordoned[$1] = $3 == "true" && $4 == "" }
        # What is to go to a single node that was cordoned tolerates that.
        END {
            n = split(names, all, ",")
            for (i = 1; i <= n; i++)
                if (takes[all[i]] && (!cordoned[all[i]] || (n == 1 && was_cordoned[all[i]]))) print all[i]
        }'
}

# Evicts through the API, so that budgets hold: NAMESPACE POD UID [ONLY ASK].  False when not yet, or not any more.
TOLD=''
evict() {
    delete=${3:+"\"preconditions\":{\"uid\":\"$3\"}"}
    [ -z "$DRY_RUN${4-}" ] || delete="$delete${delete:+,}\"dryRun\":[\"All\"]"
    body=$(printf '{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"%s","namespace":"%s"},"deleteOptions":{%s}}' \
        "$2" "$1" "$delete")
    answer=$(post_eviction "$1" "$2") && return 0
    case $answer in
    *"(NotFound)"* | *"(Conflict)"*) return 1 ;; # the next look at the pods tells
    *"is being terminated"*) return 1 ;; # its namespace is deleted, and so is the pod, without any eviction
    *"(Forbidden)"* | *"(BadRequest)"* | *"(Invalid)"* | *" is invalid: "* | *" more than one PodDisruptionBudget"*)
        stop "$1/$2 was not evicted: $(one_line "$answer")"
        ;;
    "Error from server: "*"denied the request"*)
        # A webhook that gives no reason: 429 says not now, 400 and 403 do not.  kubectl tells the code in its log alone.
        code=$(post_eviction "$1" "$2" -v=6) && return 0
        ! printf '%s\n' "$code" | grep -Eq '^I[0-9]{4} .*/eviction[^ ]* (status=")?(400|403) ' ||
            stop "$1/$2 was not evicted: $(one_line "$answer")"
        ;;
    esac
    case $TOLD in
    *" $1/$2 "*) ;;
    *)
        say "$1/$2 cannot go yet: $(one_line "$answer")"
        TOLD="$TOLD $1/$2 "
        ;;
    esac
    return 1
}

# Says what kubectl says of it: NAMESPACE POD [OPTION]
post_eviction() {
    printf '%s' "$body" |
        k_given create --raw "/api/v1/namespaces/$1/pods/$2/eviction" -f - ${3:+"$3"} 2>&1 >/dev/null
}

# Tries again while the API server is away, until it has been away for twenty seconds: COMMAND...
AWAY_SINCE=''
patiently() {
    until "$@"; do
        clock=$(date +%s)
        AWAY_SINCE=${AWAY_SINCE:-$clock}
        [ "$((clock - AWAY_SINCE))" -lt 20 ] || return 1
        sleep 1
    done
    AWAY_SINCE=''
}

# However it ends, put_back of the script has the last word.
guard() {
    trap the_end EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 141' PIPE
    trap 'exit 143' TERM
}

the_end() {
    code=$?
    trap '' HUP INT TERM PIPE
    trap - EXIT
    put_back
    exit "$code"
}
