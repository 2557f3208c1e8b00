"""Deletes an Operator without its dependents, for tests that need it gone."""

from __future__ import annotations

from contextlib import suppress

from devcluster.cluster import Cluster
from devcluster.errors import DevclusterError


def delete_without_dependents(cluster: Cluster, name: str) -> None:
    """`kubectl delete --cascade=orphan` of an Operator, to its end.

    The garbage collector may be blocked for minutes while definitions of other tests are created and deleted. Its finalizer is
    therefore removed here, once that of the suite is gone.
    """
    operator = f"operators.operators.operatorframework.io/{name}"
    cluster.kubectl("delete", operator, "--cascade=orphan", "--wait=false")
    with suppress(DevclusterError):  # the garbage collector was faster, and the Operator is gone
        cluster.kubectl("wait", operator, "--for=jsonpath={.metadata.finalizers[0]}=orphan", "--timeout=180s")
        cluster.kubectl("patch", operator, "--type=merge", "--patch", '{"metadata":{"finalizers":null}}')
    cluster.kubectl("wait", operator, "--for=delete", "--timeout=60s")
