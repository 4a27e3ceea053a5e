"""The documents that commands print: the JSON contract, `apiVersion: planner/v1alpha1`."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

#: What the stages of the objective that count placed pods are called, before their priority.
PODS_PLACED = "podsPlaced/"
#: The stage that counts the running pods that are evicted.
MOVES = "moves"


class DocumentPart(BaseModel):
    """A frozen piece of a document; fields are camelCase outside, as in Kubernetes."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True, extra="forbid")


class Kubernetes(DocumentPart):
    """The release of kube-scheduler whose decisions were copied, and what that was found by.

    `asked`: by --kubernetes; `server`: by what the API server said when the snapshot was taken;
    `kubelets`: by the newest kubelet of the nodes; `newest`: by nothing, it is the newest one known.
    """

    version: str
    source: Literal["asked", "server", "kubelets", "newest"]


class Document(DocumentPart):
    """What a command prints; `notes` are remarks for the reader, one sentence each."""

    api_version: Literal["planner/v1alpha1"] = "planner/v1alpha1"
    kind: str
    kubernetes: Kubernetes | None = None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The document as plain data, camelCase, without the parts that were not asked for."""
        return self.model_dump(mode="json", by_alias=True, exclude=self._not_asked_for())

    def to_json(self) -> str:
        """The document as the JSON that `-o json` prints."""
        return self.model_dump_json(by_alias=True, indent=2, exclude=self._not_asked_for())

    def _not_asked_for(self) -> Any:
        return None


class SearchDocument(Document):
    """What a search found; `cut` when the limit or Ctrl-C ended it while it was still looking."""

    cut: bool = False

    def cut_while(self, looking_for: str | None) -> Self:
        """The document of a search that was ended while it looked for something; None: it was not."""
        if looking_for is None:
            return self
        note = f"cut short while looking for {looking_for}: more time (--time-limit) may find more"
        return self.model_copy(update={"cut": True, "notes": (*self.notes, note)})


class NodeRejection(DocumentPart):
    """The first plugin that refused a node, and its reasons."""

    plugin: str
    reasons: tuple[str, ...]


class Decision(DocumentPart):
    """What became of one pending pod; the last three fields are filled with `-v`."""

    pod: str
    workload: str = ""
    node: str | None
    message: str = ""
    nominated_node: str | None = None
    victims: tuple[str, ...] = ()
    rejected: dict[str, NodeRejection] | None = None
    scores: dict[str, dict[str, int]] | None = None
    totals: dict[str, int] | None = None


class SpreadChange(DocumentPart):
    """One topology spread constraint, and its pods per domain before and after."""

    namespace: str
    workload: str
    topology_key: str
    when_unsatisfiable: str
    max_skew: int
    selector: str = ""
    before: dict[str, int]
    after: dict[str, int]
    skew_before: int
    skew_after: int


class PendingReason(DocumentPart):
    """A verdict line, and how many pods stayed pending with it."""

    message: str
    pods: int
    example: str


class Simulation(Document):
    """What kube-scheduler does with the pending pods, in the order in which it takes them."""

    kind: Literal["Simulation"] = "Simulation"
    decisions: tuple[Decision, ...]
    spread: tuple[SpreadChange, ...] = ()
    pending: tuple[PendingReason, ...] = ()
    contradicted: tuple[PendingReason, ...] = ()
    verbose: bool = Field(default=False, exclude=True)

    def _not_asked_for(self) -> Any:
        return None if self.verbose else {"decisions": {"__all__": {"rejected", "scores", "totals"}}}


class ConstraintReport(DocumentPart):
    """One topology spread constraint of a workload, as the cluster stands.

    `outside` counts pods with the constraint on nodes that it does not count, and so in no domain.
    """

    namespace: str
    workload: str
    topology_key: str
    when_unsatisfiable: str
    max_skew: int
    min_domains: int | None = None
    selector: str = ""
    domains: dict[str, int]
    global_minimum: int
    skew: int
    outside: int = 0
    excess: dict[str, int] = {}
    ok: bool


class Finding(DocumentPart):
    """Something else that a cluster should not contain: which pods share what, and where."""

    plugin: str
    pod: str = ""
    node: str = ""
    message: str


class CheckReport(Document):
    """What is wrong with the cluster as it stands.

    `violations` counts the pairs of a DoNotSchedule constraint and a domain that holds too many
    pods, and the findings. `pending` pods have no node yet, and are counted in no domain.
    """

    kind: Literal["CheckReport"] = "CheckReport"
    constraints: tuple[ConstraintReport, ...]
    findings: tuple[Finding, ...] = ()
    hard_excess: int = 0
    violations: int
    pending: int = 0


#: How good a plan is known to be.  `ConditionallyOptimal`: no plan is better among those that keep to what a
#: stage of the objective assumes, and others were not searched.
Status = Literal["Optimal", "ConditionallyOptimal", "Feasible"]


class Objective(DocumentPart):
    """One stage of the objective: what the plan has, what any plan could have, and whether that is proved.

    The bound is None when nothing is known; `assumes` names what it takes for granted of all plans.
    """

    name: str
    goal: Literal["max", "min"] = "max"
    value: int
    bound: int | None
    proved: bool
    assumes: tuple[str, ...] = ()


class PlanStep(DocumentPart):
    """One thing to do; steps are in the order in which a cluster accepts them.

    `from` is the node that a pod runs on before it is evicted, and also stands at its bind elsewhere.
    """

    action: Literal["bind", "evict"] = "bind"
    pod: str
    node: str | None
    source: str | None = Field(default=None, alias="from")


class Unplaced(DocumentPart):
    """A pod that stays pending, and kube-scheduler's line about it when all else is placed."""

    pod: str
    message: str


class Verdicts(DocumentPart):
    """Whether every step is admissible at its turn, and whether every constraint holds at the end."""

    sequence: bool
    final_state: bool


class PlacementPlan(SearchDocument):
    """Where the whole batch goes."""

    kind: Literal["PlacementPlan"] = "PlacementPlan"
    status: Status
    objective: tuple[Objective, ...]
    steps: tuple[PlanStep, ...]
    unplaced: tuple[Unplaced, ...] = ()
    verdicts: Verdicts


class ScaledWorkload(DocumentPart):
    """A workload that is scaled down; the deletion cost of its pods decides only where it is steerable."""

    namespace: str
    workload: str
    replicas_before: int
    replicas: int
    steerable: bool


class ScaleDownChoice(DocumentPart):
    """Pods that go, and how those that stay are spread over the workloads' own constraints."""

    victims: tuple[str, ...]
    hard_excess: int
    soft_excess: int
    skew: int
    constraints: tuple[ConstraintReport, ...]


class DeletionCost(DocumentPart):
    """What a pod's annotation `controller.kubernetes.io/pod-deletion-cost` has to be."""

    pod: str
    cost: int


class ScaleDownDraws(DocumentPart):
    """The controllers' choice drawn with other ties and moments.

    `other` draws took other pods than `controller` has, `worse` ended less well spread than `best`, and
    `broken` with a DoNotSchedule constraint broken.
    """

    runs: int
    other: int
    worse: int
    broken: int


class ScaleDown(SearchDocument):
    """Which pods a scale-down should take, and which ones the controllers would take.

    `draws` is there where it is open which pods the controllers take.
    """

    kind: Literal["ScaleDown"] = "ScaleDown"
    status: Status
    objective: tuple[Objective, ...]
    workloads: tuple[ScaledWorkload, ...]
    controller: ScaleDownChoice
    best: ScaleDownChoice
    costs: tuple[DeletionCost, ...] = ()
    draws: ScaleDownDraws | None = None
