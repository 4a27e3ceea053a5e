"""Security contexts, as far as the levels of Pod Security look at them."""

from pydantic import Field

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


class SecurityContext(PodSecurityContext):
    """What holds for one container."""

    allow_privilege_escalation: bool | None = None
    capabilities: Capabilities = Field(default_factory=Capabilities)
    privileged: bool | None = None
