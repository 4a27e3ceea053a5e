"""Security contexts, as far as the levels of Pod Security look at them."""

from typing import Annotated

from pydantic import AfterValidator, Field

from models.objects.base import KubeModel


class SeccompProfile(KubeModel):
    """Which system calls are filtered."""

    type: str = ""


class Capabilities(KubeModel):
    """What a container may do beyond what is usual, and what it may not."""

    add: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()


class PodSecurityContext(KubeModel):
    """What holds for all containers of a pod that do not say otherwise."""

    run_as_non_root: bool | None = None
    run_as_user: int | None = None
    seccomp_profile: SeccompProfile | None = None


def _said(context: PodSecurityContext | None) -> PodSecurityContext | None:
    """The API server writes an empty one where a manifest has none."""
    return None if context == PodSecurityContext() else context


#: None where nothing is said.
SaidPodSecurityContext = Annotated[PodSecurityContext | None, AfterValidator(_said)]


class SecurityContext(PodSecurityContext):
    """What holds for one container."""

    allow_privilege_escalation: bool | None = None
    capabilities: Capabilities = Field(default_factory=Capabilities)
    privileged: bool | None = None
