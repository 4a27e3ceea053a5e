"""Containers as far as placement sees them: requests, ports and images."""

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from models.objects.base import KubeModel, empty_is
from models.objects.quantity import ResourceList
from models.objects.security import SecurityContext


def without_nulls(amounts: object) -> object:
    """The amounts that are there: `kubectl apply` leaves out what is null."""
    if isinstance(amounts, dict) and None in amounts.values():
        return {name: amount for name, amount in amounts.items() if amount is not None}
    return amounts


_Limits = Annotated[ResourceList, BeforeValidator(without_nulls)]


class ResourceRequirements(KubeModel):
    """Amounts asked for and allowed."""

    requests: ResourceList = Field(default_factory=dict)
    limits: _Limits = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check_limits(self) -> Self:
        for resource, limit in self.limits.items():
            if self.requests.get(resource, 0) > limit:
                raise ValueError(f"the request for {resource} is larger than its limit")
        return self

    @property
    def defaulted(self) -> ResourceList:
        """The requests as the API server completes them: a limit without a request is one."""
        return {**self.limits, **self.requests}


class ResourcesInUse(KubeModel):
    """What runs with while something else may be asked for already."""

    requests: ResourceList = Field(default_factory=dict)


class ContainerPort(KubeModel):
    """A port that a container opens, on the host too when `host_port` is set."""

    container_port: int = Field(ge=1, le=65535)
    host_port: int = Field(default=0, ge=0, le=65535)
    protocol: Annotated[Literal["TCP", "UDP", "SCTP"], empty_is("TCP")] = "TCP"
    host_ip: str = ""


class ContainerRestartRule(KubeModel):
    """What happens when the container ends in a certain way."""

    action: str = ""


class Container(KubeModel):
    """One container; an init container that restarts Always is a sidecar."""

    name: str
    image: str = ""
    ports: tuple[ContainerPort, ...] = ()
    resources: ResourceRequirements = Field(default_factory=ResourceRequirements)
    restart_policy: str | None = None
    # Stand-in hashes are made of the repr, and stay what they were before this field was read.
    restart_policy_rules: tuple[ContainerRestartRule, ...] = Field(default=(), repr=False)
    security_context: SecurityContext | None = Field(default=None, repr=False)

    @property
    def is_sidecar(self) -> bool:
        """Whether, as an init container, it keeps running beside the others."""
        return self.restart_policy == "Always"
