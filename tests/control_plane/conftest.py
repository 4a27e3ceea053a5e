"""The control plane of the stories in tests/e2e, here too."""

from tests.e2e.conftest import _shared, _skipped_without_control_plane, live, start

__all__ = ["_shared", "_skipped_without_control_plane", "live", "start"]
