# ---- Scaling down: deletion costs first, then the scaling, then the costs come off again --------
#
# A pod whose cost was changed has the annotation planner/deletion-cost: `was:` and the cost that it had,
# so that it can be put back after a KILL.

COST=controller.kubernetes.io/pod-deletion-cost
MARK=planner/deletion-cost

# The plan as a table; what is written above as commands becomes its rows.
cost() { printf 'C|%s|%s|%s|%s\n' "$@"; }
goes() { printf 'G|%s|%s|%s\n' "$@"; }
stays() { printf 'K|%s|%s|%s\n' "$@"; }
scale() { printf 'W|%s|%s|%s|%s\n' "$@"; }

rows() { printf '%s\n' "$PLAN" | sed -n "s/^$1|//p"; }

# Every pod of the namespaces: P|NAMESPACE|NAME|UID|DELETED|MARK|NODE|GRACE|GRACE OF THE SPEC|FINALIZERS
read_pods() {
    line="{.metadata.name}|{.metadata.uid}|{.metadata.deletionTimestamp}|{.metadata.annotations.$MARK}"
    line="$line|{.spec.nodeName}|$GRACE_FIELDS"
    read=''
    for namespace in $NAMESPACES; do
        found=$(k get pods -n "$namespace" -o "jsonpath={range .items[*]}P|$namespace|$line{'\n'}{end}" 2>&1) || {
            TROUBLE=$(one_line "$found")
            return 1
        }
        read="$read$found
"
    done
    PODS=$read TROUBLE=''
}

# GOING: how many of the pods that shall go are still to be deleted.  LOST: what is gone and should not be.
look() {
    read_pods || return 1
    found=$(printf '%s\n' "$PODS" "$PLAN" | awk -F'|' '
        $1 == "P" && $5 == "" { uid[$2 "/" $3] = $4 }
        $1 == "P" && $5 != "" { leaving[$2 "/" $3] = $4; ending[$2 "/" $3] = $2 "|" $3 "|" $4 "|" $7 "|" $8 "|" $9 "|" $10 }
        $1 == "G" && ($2 "/" $3) in leaving && ($4 == "" || leaving[$2 "/" $3] == $4) { lost = lost "E|" ending[$2 "/" $3] "\n" }
        $1 == "G" || $1 == "K" { here = ($2 "/" $3) in uid && ($4 == "" || uid[$2 "/" $3] == $4) }
        $1 == "G" { going += here; if (!here) gone = gone "gone " $2 "/" $3 "\n" }
        $1 == "K" && !here { lost = lost "lost " $2 "/" $3 "\n" }
        END { printf "%d\n%s%s", going, lost, gone }')
    GOING=$(printf '%s\n' "$found" | sed -n 1p)
    LOST=$(printf '%s\n' "$found" | sed -n 's/^lost //p')
    GONE=$(printf '%s\n' "$found" | sed -n 's/^gone //p')
    ENDING=$(printf '%s\n' "$found" | sed -n 's/^E|//p')
}

field_of() {
    case $1 in Job/*) echo parallelism ;; *) echo replicas ;; esac
}

# How many replicas a workload is to have now, or why that cannot be read: NAMESPACE KIND/NAME
replicas_of() {
    read=$(k get "$2" -n "$1" -o "jsonpath={'\n'}W|{.spec.$(field_of "$2")}" 2>&1) || {
        one_line "$read"
        return 1
    }
    printf '%s\n' "$read" | sed -n 's/^W|//p'
}

# Sets TO_SCALE to the workloads that have their old number; any number but the old and the new ends it.
look_at_workloads() {
    TO_SCALE=''
    found=$(rows W)
    while IFS='|' read -r namespace workload before after; do
        now=$(replicas_of "$namespace" "$workload") || stop "$workload in $namespace: $now"
        if [ "$now" = "$before" ]; then
            TO_SCALE="$TO_SCALE$namespace|$workload|$before|$after
"
        elif [ "$now" != "$after" ]; then
            stop "$workload in $namespace has $now replicas, not $before"
        fi
    done <<END
$found
END
}

set_costs() {
    found=$(rows C)
    while IFS='|' read -r namespace cost was pods; do
        # shellcheck disable=SC2086 # the names of pods are words
        if [ -n "$pods" ]; then
            k annotate --overwrite pod $pods -n "$namespace" "$COST=$cost" "$MARK=was:$was" \
                ${DRY_RUN:+--dry-run=server} >/dev/null || stop "deletion costs could not be set"
        fi
    done <<END
$found
END
}

set_replicas() {
    while IFS='|' read -r namespace workload before after; do
        [ -n "$workload" ] || continue
        if [ "$(field_of "$workload")" = parallelism ]; then
            patch "$workload" -n "$namespace" --type=json -p "[{\"op\":\"test\",\"path\":\"/spec/parallelism\",\"value\":$before},
                {\"op\":\"replace\",\"path\":\"/spec/parallelism\",\"value\":$after}]"
        else
            k scale "$workload" -n "$namespace" --current-replicas="$before" --replicas="$after" ${DRY_RUN:+--dry-run=server}
        fi || stop "$workload in $namespace could not be scaled"
    done <<END
$TO_SCALE
END
}

# Costs as they were, on every pod of the namespaces that is marked and not on its way out.
restore_costs() {
    read_pods || return 1
    found=$(printf '%s\n' "$PODS" | awk -F'|' '
        $1 == "P" && $5 == "" && $6 != "" { names[$2 "|" substr($6, 5)] = names[$2 "|" substr($6, 5)] " " $3 }
        END { for (key in names) print key "|" names[key] }')
    while IFS='|' read -r namespace was pods; do
        [ -n "$pods" ] || continue
        if [ -n "$was" ]; then change="$COST=$was"; else change="$COST-"; fi
        # shellcheck disable=SC2086 # the names of pods are words
        k annotate --overwrite pod $pods -n "$namespace" "$change" "$MARK-" >/dev/null || return 1
    done <<END
$found
END
}

await() {
    waited=0 before=''
    while :; do
        if look; then
            [ -z "$LOST" ] || stop "$(first_of "$LOST" pod) went instead of another"
            [ "$GOING" -gt 0 ] || return 0
            [ "$GOING" = "$before" ] || waited=0
            before=$GOING
            # A StatefulSet deletes the next one when this one is gone.
            if are_ending; then waited=0; fi
        fi
        [ "$waited" -lt "$TIMEOUT" ] || stop "nothing has happened for $TIMEOUT seconds${TROUBLE:+: $TROUBLE}"
        sleep 1
        waited=$((waited + 1))
    done
}

# Costs come off, but not before controllers that were just scaled have looked at them.
put_back() {
    code=$?
    trap '' HUP INT TERM PIPE
    trap - EXIT
    if [ -n "$SCALING" ]; then
        for second in 1 2 3 4 5 6 7 8 9 10; do
            if ! look 2>/dev/null || [ "$GOING" -eq 0 ]; then break; fi
            [ "$second" -eq 10 ] || sleep 1
        done
    fi
    [ -z "$COSTS_SET" ] || patiently restore_costs 2>/dev/null ||
        complain "deletion costs are not all as they were: start this again and they are put back"
    exit "$code"
}

check_scaling() {
    for namespace in $NAMESPACES; do
        need "$namespace" list pods
        need "$namespace" patch pods
    done
    found=$(rows W)
    while IFS='|' read -r namespace workload _; do
        case $workload in
        Deployment/*) kind=deployments.apps ;;
        ReplicaSet/*) kind=replicasets.apps ;;
        StatefulSet/*) kind=statefulsets.apps ;;
        Rollout/*) kind=rollouts.argoproj.io ;;
        CloneSet/*) kind=clonesets.apps.kruise.io ;;
        statefulset.apps.kruise.io/*) kind=statefulsets.apps.kruise.io ;;
        ReplicationController/*) kind=replicationcontrollers ;;
        *) kind=jobs.batch ;;
        esac
        need "$namespace" get "$kind"
        if [ "$kind" = jobs.batch ]; then need "$namespace" patch "$kind"; fi
        if [ "$kind" != jobs.batch ]; then need "$namespace" update "$kind" scale; fi
    done <<END
$found
END
    check_rights
}

main() {
    options "$@"
    PLAN=$(plan)
    NAMESPACES=$(rows W | awk -F'|' '!seen[$1]++ { print $1 }')
    SCALING='' COSTS_SET='' TROUBLE=''
    check_cluster
    check_scaling
    look || refuse "the pods cannot be read: $TROUBLE"
    look_at_workloads
    if [ -n "$TO_SCALE" ]; then
        wrong=$(printf '%s\n' "$LOST" "$GONE" | sed '/^$/d; s/$/ is not there any more/')
        # Pods of a workload that has been scaled are rightly gone.
        if [ "$TO_SCALE" = "$(rows W)
" ] && [ -n "$wrong" ]; then stop "$(first_of "$wrong" pod); nothing was changed"; fi
        check_nodes
    fi
    if [ -n "$DRY_RUN" ]; then
        set_costs
        set_replicas
        say "dry run: $GOING pods would go"
        exit 0
    fi
    guard
    COSTS_SET=yes
    restore_costs || stop "deletion costs that a killed script left could not be put back"
    if [ -n "$TO_SCALE" ]; then set_costs; fi
    SCALING=yes
    set_replicas
    await
    patiently restore_costs || stop "deletion costs could not be put back"
    COSTS_SET=''
    await_gone "$(rows G)"
    say "done: every pod that was to go has gone"
}
