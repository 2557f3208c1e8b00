"""The EndpointSlice default/kubernetes, which an API server writes for itself unless it is on loopback, as in the tests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from devcluster.cluster import Cluster


@contextmanager
def endpoint_of_the_api_server(cluster: Cluster, address: str, port: int = 6443) -> Iterator[None]:
    """Inside the context, the EndpointSlice names this address."""
    slice_ = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "kubernetes", "namespace": "default"},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [address]}],
        "ports": [{"name": "https", "port": port}],
    }
    cluster.kubectl("create", "--filename=-", input=json.dumps(slice_))
    try:
        yield
    finally:
        cluster.kubectl("delete", "endpointslice", "kubernetes", "--namespace=default")
