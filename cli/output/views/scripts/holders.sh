# ---- Which script is at work: what it has changed has the annotation planner/by until it is put back ------
#
# PROCESS@HOST:NUMBER SINCE SCRIPT.  A process of this host that is not there any more has been killed, and the next
# script takes over what it left.  Whether one of another host is still at work only a user knows: --take-over says that
# it is not.  Hosts may share a name, and containers that share one see only their own processes: the number stands for
# the list of processes, where the kernel tells them apart, and for the host since it was started.

HERE=$(
    number=$({ cat /proc/sys/kernel/random/boot_id; readlink /proc/self/ns/pid; } 2>/dev/null | cksum 2>/dev/null)
    printf '%s:%s' "$(uname -n)" "${number%% *}" | tr -cd 'A-Za-z0-9:._-'
)
HOLDER="$$@$HERE $(date -u +%Y-%m-%dT%H:%M:%SZ) $(printf '%s' "${0##*/}" | tr -cd 'A-Za-z0-9@:._ -')"

# Whether another script may still be at work: what planner/by says
is_at_work() {
    [ -z "$TAKE_OVER" ] || return 1
    case $1 in
    '' | "$HOLDER") return 1 ;;
    *"@$HERE "*) ;;
    *) return 0 ;;
    esac
    case $(
        LC_ALL=C
        export LC_ALL
        kill -0 "${1%%@*}" 2>&1
    ) in *"o such process"*) return 1 ;; esac # other words: it is there, and another user's
}

# The script in words: what planner/by says
named_holder() {
    where=${1%% *} rest=${1#* }
    host=${where#*@}
    printf '%s, process %s on %s since %s' "${rest#* }" "${where%%@*}" "${host%:*}" "${rest%% *}"
}

# What a killed script left is of this one now: OBJECT...
take_mark() { k annotate --overwrite "$@" "planner/by=$HOLDER" >/dev/null; }

# No script is at work on some nodes any more, which stay as they are: NODE, one a line
release_nodes() {
    # shellcheck disable=SC2086 # names of nodes are words
    [ -z "$1" ] || patiently k annotate node $1 planner/by- >/dev/null 2>&1
}

# Nodes that scripts have changed: node NAME|BY, one a line
read_held_nodes() {
    k get nodes -o "jsonpath={range .items[*]}node {.metadata.name}|{.metadata.annotations.planner/by}{'\n'}{end}"
}

# Before anything is changed: what another script that may be at work has changed: WHAT|HOLDER, one a line
refuse_if_held() {
    held=$(printf '%s\n' "$1" | grep '|.' | while IFS='|' read -r what holder; do
        ! is_at_work "$holder" || printf '%s has been changed by %s\n' "$what" "$(named_holder "$holder")"
    done)
    [ -z "$held" ] || refuse "$(first_of "$held" object):" \
        "wait until that script has ended, or start this with --take-over if it is no longer at work"
}
