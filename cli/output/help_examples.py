"""Three examples for the help of each command: the line to type, and what it is good for."""

from collections.abc import Mapping, Sequence

EXAMPLES: Mapping[str, Sequence[tuple[str, str]]] = {
    "check": (
        ("planner check", "Is the spread in the live cluster what the manifests ask for?"),
        ("planner check -f cluster.json.gz -n shop", "The same for one namespace of a snapshot."),
        ("planner check --survive topology.kubernetes.io/zone", "What if a zone is lost?"),
    ),
    "simulate": (
        ("planner simulate", "What happens to the pods that are pending now?"),
        ("planner simulate -f cluster.json.gz -f deploy.yaml", "What if this manifest is applied?"),
        ("planner simulate -v --drain node-1", "Every node's score and refusal, with a node drained."),
    ),
    "solve": (
        ("planner solve -f cluster.json.gz -f batch.yaml", "Where should this batch go?"),
        ("planner solve --allow-moves", "May running pods make room?"),
        ("planner solve --gated -o script > place.sh", "A script that places pods held by a gate."),
    ),
    "compare": (
        ("planner compare -f cluster.json.gz -f batch.yaml", "Is a plan worth it?"),
        ("planner compare --replays 20", "How much is luck among nodes that score the same?"),
        ("planner compare -o json | jq .optimal.placed", "The figures for a program."),
    ),
    "explain": (
        ("planner explain", "Why are these pods pending, and what helps?"),
        ("planner explain deploy/cart -n shop", "Why these?"),
        ("planner explain --batch -f cluster.json.gz", "Which of them exclude each other?"),
    ),
    "scale-down": (
        ("planner scale-down deployment/web.shop=3", "Which replicas should go?"),
        ("planner scale-down deploy/web=3 deploy/api=2 -n shop", "Several workloads at once."),
        ("planner scale-down deployment/web.shop=3 -o script > down.sh", "A script that makes it so."),
    ),
    "rebalance": (
        ("planner rebalance", "Which few moves repair the spread?"),
        ("planner rebalance --max-moves 5 --curve", "What would five moves achieve, and what fewer?"),
        ("planner rebalance --evict-only -o script > moves.sh", "A script that evicts, wave by wave."),
    ),
    "rollout": (
        ("planner rollout -f deploy.yaml", "What happens when I apply this?"),
        ("planner rollout -f deploy/ --snapshot cluster.json.gz", "In CI, against a snapshot."),
        ("planner rollout -f deploy.yaml --replays 100", "With more of what is left to chance."),
    ),
    "drain": (
        ("planner drain node-1 node-2", "In which order, and does it get stuck?"),
        ("planner drain pool=old --at-once 3", "A pool by its label, three nodes at a time."),
        ("planner drain -l pool=old --surge 2", "With two new nodes first."),
    ),
    "consolidate": (
        ("planner consolidate --prices prices.csv", "Which nodes can go, and what is saved?"),
        ("planner consolidate --reserve 10% --keep node-1", "With free room left, and a node that stays."),
        ("planner consolidate --catalogue types.csv --pin", "Would other machines be cheaper altogether?"),
    ),
    "capacity": (
        ("planner capacity", "How many more replicas of each workload fit, and what stops the next?"),
        ("planner capacity deploy/web.shop --best", "Of one workload, and what the best placement holds."),
        ("planner capacity --survive topology.kubernetes.io/zone", "How many more, with any zone lost?"),
    ),
    "sweep": (
        (
            "planner sweep check --vary lose=topology.kubernetes.io/zone --vary scale=deploy/web.shop=1..50",
            "From how many replicas on does which lost zone break something?",
        ),
        (
            "planner sweep simulate -f cluster.json --vary drain=each --vary kubernetes=1.34..1.36",
            "Which node can be drained without a pod pending, under which release?",
        ),
        (
            "planner sweep capacity --vary add-nodes=node-1=0..10 --report nodes.html",
            "How many more replicas does every further node give?",
        ),
    ),
    "fleet": (
        (
            "planner fleet check --survive topology.kubernetes.io/zone --all-contexts",
            "Which clusters do not survive the loss of a zone?",
        ),
        (
            "planner fleet capacity --autoscalers --snapshots clusters/ --resume answers/",
            "Where can autoscalers not get to their maximum? Answers are kept.",
        ),
        (
            "planner fleet check --contexts eu,us --vary kubernetes=1.36,1.37 -o jsonl | jq .summary",
            "Under two releases, a line as soon as it is known.",
        ),
    ),
    "snapshot": (
        ("planner snapshot -o cluster.json.gz", "Keep the live cluster for later."),
        ("planner snapshot --anonymize -o case.json", "A file for a report, under other names."),
        ("planner snapshot -f dump.json -o small.json", "Keep of a dump only what is read."),
    ),
    "diff": (
        ("planner diff monday.json.gz tuesday.json.gz", "What has changed between two snapshots?"),
        ("planner diff before.json.gz after.json.gz -n shop", "In one namespace."),
        ("planner diff before.json.gz after.json.gz -o json", "For a program."),
    ),
    "completion": (
        ("source <(planner completion bash)", "In this shell; for later ones in ~/.bashrc."),
        ("planner completion zsh > ~/.zfunc/_planner", "A folder that is on $fpath."),
        ("planner completion fish > ~/.config/fish/completions/planner.fish", "Where fish looks."),
    ),
    "help": (
        ("planner help", "All commands."),
        ("planner help rebalance", "The options of one."),
        ("kubectl planner help check", "The same as a plugin of kubectl."),
    ),
}
