"""What the API server would not store of a workload, in its words: the rules that go beyond types and fields.

They are asked of manifests that are to be applied.  What a cluster has was accepted, and a snapshot that
somebody made by hand need not be.  `scheduler.py` and `descheduler.py` say the same of the configurations of
these two programs, whenever one is read: no API server has seen them.
"""

from models.admission.validation.workloads import invalid_fields

__all__ = ["invalid_fields"]
