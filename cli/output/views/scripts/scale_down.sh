# ---- Scaling down: deletion costs first, then the scaling, then the costs come off again --------
#
# A pod whose cost was changed has the annotation planner/deletion-cost: `was:` and the cost that it had,
# so that it can be put back after a KILL, and planner/by.  Costs stay on as long as a controller that was scaled has not taken
# its pods: without them it would take others.

COST=controller.kubernetes.io/pod-deletion-cost
COST_FIELD='.metadata.annotations.controller\.kubernetes\.io/pod-deletion-cost'
MARK=planner/deletion-cost

# The plan as a table; what is written above as commands becomes its rows.
cost() { printf 'C|%s|%s|%s\n' "$@"; }
goes() { printf 'G|%s|%s|%s\n' "$@"; }
stays() { printf 'K|%s|%s|%s\n' "$@"; }
scale() { printf 'W|%s|%s|%s|%s\n' "$@"; }

# Every pod of the namespaces: P|NAMESPACE|NAME|UID|DELETED|MARK|NODE|GRACE|GRACE OF THE SPEC|FINALIZERS|COST|BY WHICH SCRIPT
read_pods() {
    line="{.metadata.name}|{.metadata.uid}|{.metadata.deletionTimestamp}|{.metadata.annotations.$MARK}"
    line="$line|{.spec.nodeName}|$GRACE_FIELDS|{$COST_FIELD}|{.metadata.annotations.planner/by}"
    read=''
    for namespace in $NAMESPACES; do
        read_more pods -n "$namespace" -o "jsonpath={range .items[*]}P|$namespace|$line{'\n'}{end}" || return 1
    done
    PODS=$read TROUBLE=''
}

# GOING: how many of the pods that shall go are still to be deleted.  LOST: what is gone and should not be.
# TO_TAKE: how many pods controllers have still to take by their costs.
look() {
    read_pods || return 1
    found=$(printf '%s\n' "$PODS" "$PLAN" | awk -F'|' '
        $1 == "P" && $5 == "" { uid[$2 "/" $3] = $4 }
        $1 == "P" && $5 != "" { leaving[$2 "/" $3] = $4; ending[$2 "/" $3] = $2 "|" $3 "|" $4 "|" $7 "|" $8 "|" $9 "|" $10 }
        $1 == "G" && ($2 "/" $3) in leaving && ($4 == "" || leaving[$2 "/" $3] == $4) { lost = lost "E|" ending[$2 "/" $3] "\n" }
        $1 == "G" || $1 == "K" { here = ($2 "/" $3) in uid && ($4 == "" || uid[$2 "/" $3] == $4) }
        $1 == "G" { going += here; if (here) goes[$2 "/" $3] = 1; else gone = gone "gone " $2 "/" $3 "\n" }
        $1 == "K" && !here { to_take--; lost = lost "lost " $2 "/" $3 "\n" }
        $1 == "C" { n = split($4, names, " "); for (i = 1; i <= n; i++) to_take += ($2 "/" names[i]) in goes }
        END { printf "%d|%d\n%s%s", going, to_take, lost, gone }')
    GOING=$(printf '%s\n' "$found" | sed -n '1s/|.*//p')
    TO_TAKE=$(printf '%s\n' "$found" | sed -n '1s/.*|//p')
    LOST=$(printf '%s\n' "$found" | sed -n 's/^lost //p')
    GONE=$(printf '%s\n' "$found" | sed -n 's/^gone //p')
    ENDING=$(printf '%s\n' "$found" | sed -n 's/^E|//p')
}

field_of() {
    case $1 in Job/*) echo parallelism ;; *) echo replicas ;; esac
}

# Every workload: NAMESPACE|KIND/NAME|BEFORE|AFTER|REPLICAS NOW|GENERATION|AND WHAT ITS STATUS SAYS OF THE SECOND|AND THE FIRST
read_workloads() {
    WORKLOADS=''
    found=$(rows W)
    while IFS='|' read -r namespace workload before after; do
        line="{.spec.$(field_of "$workload")}|{.metadata.generation}|{.status.observedGeneration}|{.status.replicas}"
        read=$(k get "$workload" -n "$namespace" -o "jsonpath={'\n'}W|$line{'\n'}" 2>&1) || {
            TROUBLE="$workload in $namespace: $(one_line "$read")"
            return 1
        }
        WORKLOADS="$WORKLOADS$namespace|$workload|$before|$after|$(printf '%s\n' "$read" | sed -n 's/^W|//p')
"
    done <<END
$found
END
}

# Sets TO_SCALE to the workloads that have their old number; any number but the old and the new ends it.
look_at_workloads() {
    read_workloads || stop "$TROUBLE"
    TO_SCALE=$(printf '%s' "$WORKLOADS" | awk -F'|' '$5 == $3 { print $1 "|" $2 "|" $3 "|" $4 }')
    wrong=$(printf '%s' "$WORKLOADS" | awk -F'|' '$5 != $3 && $5 != $4 { print $2 " in " $1 " has " $5 + 0 " replicas, not " $3 }')
    [ -z "$wrong" ] || stop "$(first_of "$wrong" workload)"
}

# Workloads that another client has scaled since: their controllers do not take the pods of the plan any more.
stop_if_scaled_again() {
    wrong=$(printf '%s' "$WORKLOADS" | awk -F'|' '$5 != $4 { print $2 " in " $1 " has " $5 + 0 " replicas by now, not " $4 }')
    [ -z "$wrong" ] || {
        SCALING=''
        stop "$(first_of "$wrong" workload)"
    }
}

# Whether a controller that was scaled has still to take pods by their costs.
is_scaling() {
    [ -n "$SCALING" ] && patiently look && [ "$TO_TAKE" -gt 0 ] && patiently read_workloads &&
        printf '%s' "$WORKLOADS" | awk -F'|' '
            $2 !~ /^(StatefulSet|statefulset.apps.kruise.io|Job)\// && $5 == $4 && ($6 != $7 || $8 + 0 > $4 + 0) { found = 1 }
            END { exit !found }'
}

# Costs on the pods that are there; the mark has the cost that a pod had before the first such script.
set_costs() {
    found=$(printf '%s\n' "$PODS" "$PLAN" | awk -F'|' '
        $1 == "P" && $5 == "" { was[$2 "/" $3] = $6 == "" ? "was:" $11 : $6 }
        $1 == "C" {
            n = split($4, names, " ")
            for (i = 1; i <= n; i++) {
                id = $2 "/" names[i]; key = $2 "|" $3 "|" was[id]
                if (id in was) pods[key] = pods[key] " " names[i]
            }
        }
        END { for (key in pods) print key "|" pods[key] }')
    while IFS='|' read -r namespace cost mark pods; do
        # shellcheck disable=SC2086 # the names of pods are words
        if [ -n "$pods" ]; then
            k annotate --overwrite pod $pods -n "$namespace" "$COST=$cost" "$MARK=$mark" "planner/by=$HOLDER" \
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

# Costs as they were, on every pod of the workloads that is marked and not on its way out: [ALL BUT THOSE THAT ARE SET]
restore_costs() {
    read_pods || return 1
    found=$(printf '%s\n' "$PLAN" "$PODS" | awk -F'|' -v but="${1-}" '
        $1 == "G" || $1 == "K" { ours[$2 "/" $3] = 1 }
        $1 == "C" && but != "" { n = split($4, pods, " "); for (i = 1; i <= n; i++) delete ours[$2 "/" pods[i]] }
        $1 == "P" && ($2 "/" $3) in ours && $5 == "" && $6 != "" { names[$2 "|" substr($6, 5)] = names[$2 "|" substr($6, 5)] " " $3 }
        END { for (key in names) print key "|" names[key] }')
    while IFS='|' read -r namespace was pods; do
        [ -n "$pods" ] || continue
        if [ -n "$was" ]; then change="$COST=$was"; else change="$COST-"; fi
        # shellcheck disable=SC2086 # the names of pods are words
        k annotate --overwrite pod $pods -n "$namespace" "$change" "$MARK-" planner/by- >/dev/null || return 1
    done <<END
$found
END
}

# Planned again, no pod would go: there are as many replicas as were asked for.
stop_for_lost() {
    complain "stopped: $(first_of "$LOST" pod) went instead of another; the replicas are as many as planned, so there is" \
        "nothing to scale again: $(in_context "planner check") says how those that stay are spread"
    exit 1
}

await() {
    still=''
    begin_waiting
    while :; do
        if look; then
            if read_workloads; then
                stop_if_scaled_again
                [ -z "$LOST" ] || stop_for_lost
                [ "$GOING" -gt 0 ] || return 0
            else
                case $TROUBLE in *"(NotFound)"*)
                    SCALING=''
                    stop "$TROUBLE"
                    ;;
                esac
            fi
            [ "$GOING" = "$still" ] || begin_waiting
            still=$GOING
            # A StatefulSet deletes the next one when this one is gone.
            if are_ending; then begin_waiting; fi
        fi
        if is_told_again; then tell_idle "${TROUBLE:-$(counted "$GOING" pod) still to go}" pod; fi
        [ "$waited" -lt "$TIMEOUT" ] || {
            complain "stopped: nothing has happened for $TIMEOUT seconds${TROUBLE:+: $TROUBLE}: $(counted "$GOING" pod) still to go;" \
                "start this again, or plan again: $AGAIN"
            exit 1
        }
        wait_more
    done
}

# Costs come off, but not before controllers that were scaled have looked at them.
put_back() {
    [ -n "$COSTS_SET" ] || return 0
    for second in 1 2 3 4 5 6 7 8 9 10; do
        is_scaling 2>/dev/null || break
        [ "$second" -eq 10 ] || sleep 1
    done
    if is_scaling 2>/dev/null; then
        complain "deletion costs stay on $(counted "$TO_TAKE" pod) that controllers have still to take:" \
            "start this again, and they come off when that is done"
    else
        patiently restore_costs 2>/dev/null ||
            complain "deletion costs are not all as they were: start this again and they are put back"
    fi
}

check_scaling() {
    for namespace in $NAMESPACES; do
        need "$namespace" list pods
        need "$namespace" get pods # kubectl reads what it changes
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
        if [ "$kind" != jobs.batch ]; then
            need "$namespace" get "$kind" scale
            need "$namespace" update "$kind" scale
        fi
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
    refuse_if_held "$(printf '%s\n' "$PODS" "$PLAN" | awk -F'|' '
        $1 == "P" { by[$2 "/" $3] = $12 }
        $1 == "G" || $1 == "K" { print "pod " $2 "/" $3 "|" by[$2 "/" $3] }')"
    look_at_workloads
    if [ -n "$TO_SCALE" ]; then
        wrong=$(printf '%s\n' "$LOST" "$GONE" | sed '/^$/d; s/$/ is not there any more/')
        # Pods of a workload that has been scaled are rightly gone.
        if [ "$TO_SCALE" = "$(rows W)" ] && [ -n "$wrong" ]; then stop "$(first_of "$wrong" pod); nothing was changed"; fi
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
    if [ -n "$TO_SCALE" ] || [ "$TO_TAKE" -gt 0 ]; then set_costs; fi
    patiently restore_costs "but those" || stop "deletion costs that another script has set could not be put back"
    SCALING=yes
    set_replicas
    await
    patiently restore_costs || stop "deletion costs could not be put back"
    COSTS_SET=''
    await_gone "$(rows G)"
    patiently read_workloads || stop "$TROUBLE"
    stop_if_scaled_again
    say "done: every pod that was to go has gone"
}
