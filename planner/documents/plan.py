"""The documents that commands print: the JSON contract, `apiVersion: planner/v1alpha1`."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

#: What the stages of the objective that count placed pods are called, before their priority.
PODS_PLACED = "podsPlaced/"
#: The stage that counts the running pods that are evicted.
MOVES = "moves"


class DocumentPart(BaseModel):
    """A frozen piece of a document; fields are camelCase outside, as in Kubernetes."""

    model_config = ConfigDict(
        frozen=True, alias_generator=to_camel, populate_by_name=True, extra="forbid", defer_build=True
    )


class WorkloadPart(DocumentPart):
    """What is said about a workload."""

    namespace: str
    """The namespace of the workload."""
    workload: str
    """The workload."""


class ConstraintPart(DocumentPart):
    """What is said about the topology spread constraints of a workload over a key."""

    namespace: str
    """The namespace of the workload."""
    workload: str
    """Whose constraint it is."""
    topology_key: str
    """As in the manifest."""


class ConstraintTerms(ConstraintPart):
    """What is said about one topology spread constraint."""

    when_unsatisfiable: str
    """As in the manifest."""
    max_skew: int
    """As in the manifest."""


class Kubernetes(DocumentPart):
    """The release of kube-scheduler whose decisions were copied."""

    version: str
    """The release."""
    source: Literal["asked", "server", "kubelets", "newest"]
    """What told it: `asked`, --kubernetes; `server`, the API server when the snapshot was taken; `kubelets`,
    the newest kubelet of the nodes; `newest`, nothing: it is the newest release that is known."""


class Document(DocumentPart):
    """What a command prints."""

    api_version: Literal["planner/v1alpha1"] = "planner/v1alpha1"
    """`planner/v1alpha1`; `planner/v1alpha2` for a MovePlan, whose `landing` has changed its meaning."""
    kind: str
    """The name of the document."""
    kubernetes: Kubernetes | None = None
    """The release of kube-scheduler that was copied; null where none was asked."""
    about: str | None = None
    """The pods asked about by `-n`, `-l` and `--exclude`, as `only pods of namespace shop`; null for all."""
    notes: tuple[str, ...] = ()
    """Remarks, a sentence each: what was skipped, left out or is not modelled. Also printed on stderr."""

    def to_dict(self) -> dict[str, Any]:
        """The document as plain data, camelCase, without the parts that were not asked for."""
        return self.model_dump(mode="json", by_alias=True, exclude=self.not_asked_for())

    def to_json(self) -> str:
        """The document as the JSON that `-o json` prints."""
        return self.model_dump_json(by_alias=True, indent=2, exclude=self.not_asked_for())

    def not_asked_for(self) -> Any:
        """What the document leaves out, as pydantic takes it."""
        return None


class Cut(NamedTuple):
    """What a search was looking for when its limit or a request to stop ended it."""

    looking_for: str
    stopped: bool


class SearchDocument(Document):
    """What a search found."""

    cut: bool = False
    """Whether the limit or Ctrl-C ended the search before its end; a note says what was being looked for.
    What was not cut is the same at every larger limit."""

    def cut_while(self, cut: Cut | None) -> Self:
        """The document of a search that was ended while it looked for something; None: it was not."""
        if cut is None:
            return self
        ended, longer = ("stopped", "more time") if cut.stopped else ("cut short", "more time (--time-limit)")
        note = f"{ended} while looking for {cut.looking_for}: {longer} may find more"
        return self.model_copy(update={"cut": True, "notes": (*self.notes, note)})


class NodeRejection(DocumentPart):
    """The first plugin that refused a node, and its reasons."""

    plugin: str
    """The plugin; empty when the node was not looked at, because the pod names other nodes."""
    reasons: tuple[str, ...]
    """Its reasons, in kube-scheduler's words."""


class Decision(DocumentPart):
    """What became of one pending pod."""

    pod: str
    """The pod."""
    workload: str = ""
    """Its workload."""
    node: str | None
    """Where it goes; null when it stays pending."""
    message: str = ""
    """The scheduler's line when no node was feasible at first. It stays when preemption then made room.
    `scheduling gated` for a gated pod; `not created:` and the API server's words for one that it refuses."""
    nominated_node: str | None = None
    """The node on which preemption made room."""
    victims: tuple[str, ...] = ()
    """The pods evicted for it."""
    rejected: dict[str, NodeRejection] | None = None
    """By node, the first filter that refused it. Only with -v; null for a gated pod."""
    scores: dict[str, dict[str, int]] | None = None
    """By plugin and node, score times weight; empty when at most one node was feasible. Only with -v; null
    for a gated pod."""
    totals: dict[str, int] | None = None
    """By node, the sum of the scores. Only with -v; null for a gated pod."""


class SpreadChange(ConstraintTerms):
    """One topology spread constraint, and its pods per domain before and after."""

    selector: str = ""
    """The pods that are counted, in kubectl's notation."""
    before: dict[str, int]
    """By domain, matching pods before the first step; of more than 1,000 domains those where that changes."""
    after: dict[str, int]
    """By the same domains, matching pods after the last step."""
    unlisted: int = 0
    """How many more domains there are, each with as many pods after as before."""
    skew_before: int
    """The fullest domain less the global minimum, before."""
    skew_after: int
    """The same, after."""


class PendingReason(DocumentPart):
    """A verdict line, and how many pods stayed pending with it."""

    message: str
    """A verdict line."""
    pods: int
    """How many pods stayed pending with it."""
    example: str
    """The first of them."""


class Simulation(Document):
    """What kube-scheduler does with the pending pods, in the order in which it takes them."""

    kind: Literal["Simulation"] = "Simulation"
    decisions: tuple[Decision, ...]
    """One for each pending pod of a known scheduler, in the order of the queue."""
    spread: tuple[SpreadChange, ...] = ()
    """Every spread constraint, before and after."""
    pending: tuple[PendingReason, ...] = ()
    """The verdicts of the pods that stay pending, the most frequent first."""
    contradicted: tuple[PendingReason, ...] = ()
    """Lines that kube-scheduler left on pending pods and that are not found here: the cluster's configuration
    is another one."""
    verbose: bool = Field(default=False, exclude=True)

    def not_asked_for(self) -> Any:
        """What the document leaves out, as pydantic takes it."""
        return None if self.verbose else {"decisions": {"__all__": {"rejected", "scores", "totals"}}}


class ConstraintReport(ConstraintTerms):
    """One topology spread constraint of a workload, as the cluster stands."""

    min_domains: int | None = None
    """As in the manifest."""
    selector: str = ""
    """The pods that are counted, in kubectl's notation."""
    domains: dict[str, int]
    """By domain, matching pods."""
    global_minimum: int
    """What the domains are compared with."""
    skew: int
    """The fullest domain less the global minimum."""
    outside: int = 0
    """Pods with the constraint on nodes that it does not count, and so in no domain."""
    excess: dict[str, int] = {}
    """By domain that has too many, how many."""
    ok: bool
    """Whether no domain has too many."""


class WorseConstraint(ConstraintPart):
    """The DoNotSchedule constraints of a workload over a key that are more broken than before."""

    excess_before: int
    """Pods too many before."""
    excess_after: int
    """Pods too many after."""


class Finding(DocumentPart):
    """Something else that a cluster should not contain: which pods share what, and where."""

    plugin: str
    """The plugin that objects."""
    pod: str = ""
    """What it is about; empty when it is about a node as such."""
    node: str = ""
    """The node that it is about."""
    message: str
    """What is wrong, in one sentence."""


class CheckReport(Document):
    """What is wrong with the cluster as it stands."""

    kind: Literal["CheckReport"] = "CheckReport"
    constraints: tuple[ConstraintReport, ...]
    """Every spread constraint as the cluster stands."""
    findings: tuple[Finding, ...] = ()
    """What else should not be."""
    hard_excess: int = 0
    """How many pods too many, over all DoNotSchedule constraints and domains."""
    violations: int
    """Broken pairs of DoNotSchedule constraint and domain, plus findings."""
    pending: int = 0
    """Pods without a node, which are counted in no domain."""


#: How good a plan is known to be.  `ConditionallyOptimal`: no plan is better among those that keep to what a
#: stage of the objective assumes, and others were not searched, or cannot be judged.
Status = Literal["Optimal", "ConditionallyOptimal", "Feasible"]


class Objective(DocumentPart):
    """One stage of the objective: what the plan has, what any plan could have, and whether that is proved."""

    name: str
    """The stage; the command's page says what it counts."""
    goal: Literal["max", "min"] = "max"
    """With `max` the bound is at least the value, with `min` at most."""
    value: int
    """What the plan has."""
    bound: int | None
    """What no plan can beat that is equal in all stages before; null when nothing is known."""
    proved: bool
    """Whether the value is the best possible, this stage and all before it."""
    assumes: tuple[str, ...] = ()
    """What the bound takes for granted of all plans; empty when it holds for every plan. `EvictionsFirst`:
    every eviction comes before the first bind; `NothingUndecided`: no pod comes to a node of which the
    snapshot does not tell whether it may; `NothingWorse`: no hard constraint is ever worse than
    before a move, and no pod without the pods that its affinity requires.
    [proof.md](proof.md#what-a-proof-takes-for-granted) says which of them make a status conditional."""


class PlanStep(DocumentPart):
    """One thing to do."""

    action: Literal["bind", "evict"] = "bind"
    """`bind`; with --allow-moves also `evict`."""
    pod: str
    """The pod. One that moves is evicted and bound under the same name, which stands for its replacement."""
    node: str | None
    """Where it goes; null for an eviction."""
    source: str | None = Field(default=None, alias="from")
    """The node that a running pod is on before it is evicted, at its eviction and at its bind; null for a pod
    that was pending."""


class Unplaced(DocumentPart):
    """A pod that stays pending, and kube-scheduler's line about it when all else is placed."""

    pod: str
    """The pod."""
    message: str
    """The scheduler's line when all steps are done, without preemption; `scheduling gated` if it is gated."""


class Verdicts(DocumentPart):
    """Whether every step is admissible at its turn, and whether every constraint holds at the end."""

    sequence: bool
    """Whether the filters accept every step in the order of the list. False only with --final-state."""
    final_state: bool
    """Whether `check` counts no more violations after the plan than before; of a PlacementPlan whether every
    pod that it binds would be accepted where it is beside all others, as if it came last."""


class PlacementPlan(SearchDocument):
    """Where the whole batch goes."""

    kind: Literal["PlacementPlan"] = "PlacementPlan"
    status: Status
    """`Optimal` when it is proved that no plan places more pods; `ConditionallyOptimal` when that is proved
    of the plans that were searched alone, those that keep to what `objective[].assumes` names
    ([proof.md](proof.md#what-a-proof-takes-for-granted)); else `Feasible`."""
    objective: tuple[Objective, ...]
    """The stages, the most important first: `podsPlaced/PRIORITY` for each priority in the batch, then the
    softer stages of [promises.md](promises.md#what-solve-guarantees). With --allow-moves running pods
    that may be evicted count as placed, and the only other stage is `moves`, the evictions."""
    steps: tuple[PlanStep, ...]
    """What to do, in the order in which a cluster accepts it."""
    unplaced: tuple[Unplaced, ...] = ()
    """The pods that stay pending, in the order of the queue, then those evicted for good."""
    verdicts: Verdicts
    """What holds on the way and at the end."""


class ScaledWorkload(WorkloadPart):
    """A workload that is scaled down; deletion costs decide only where its controller heeds them."""

    replicas_before: int
    """Its live pods."""
    replicas: int
    """How many it is to keep."""
    heeds_deletion_costs: bool
    """Whether its controller looks at deletion costs."""


class ScaleDownChoice(DocumentPart):
    """Pods that go, and how those that stay are spread over the workloads' own constraints."""

    victims: tuple[str, ...]
    """The pods that go."""
    hard_excess: int
    """How many pods too many stay, over the workloads' DoNotSchedule constraints and all domains."""
    soft_excess: int
    """The same over ScheduleAnyway constraints."""
    skew: int
    """The sum of the skews of these constraints."""
    constraints: tuple[ConstraintReport, ...]
    """Each of them."""


class DeletionCost(DocumentPart):
    """What a pod's annotation `controller.kubernetes.io/pod-deletion-cost` has to be."""

    pod: str
    """The pod."""
    cost: int
    """The value for its annotation `controller.kubernetes.io/pod-deletion-cost`."""


class ScaleDownDraws(DocumentPart):
    """The controllers' choice drawn with other ties and moments."""

    runs: int
    """How many draws."""
    other: int
    """Those that took other pods than `controller` has."""
    worse: int
    """Those that ended less well spread than `best`."""
    broken: int
    """Those that ended with a DoNotSchedule constraint broken."""


class ScaleDown(SearchDocument):
    """Which pods a scale-down should take, and which ones the controllers would take."""

    kind: Literal["ScaleDown"] = "ScaleDown"
    status: Status
    """`Optimal` when every stage of the objective is proved, else `Feasible`."""
    objective: tuple[Objective, ...]
    """The stages, the most important first: `hardExcess`, `softExcess` and `skew` as small as possible,
    `controllersVictims` (how many of the victims the controllers take anyhow) as large as possible."""
    workloads: tuple[ScaledWorkload, ...]
    """What is scaled down."""
    controller: ScaleDownChoice
    """The pods that the controllers would take, and the spread after that."""
    best: ScaleDownChoice
    """The pods that should go, and the spread after that."""
    costs: tuple[DeletionCost, ...] = ()
    """The annotations that make the controllers take the best choice."""
    draws: ScaleDownDraws | None = None
    """Where it is open which pods the controllers take: their choice drawn with other ties and moments; else
    null."""
