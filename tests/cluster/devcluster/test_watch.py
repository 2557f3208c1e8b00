"""Watches of objects on a local cluster, when their stream ends."""

import json
import os
import signal

from devcluster.cluster import Cluster
from devcluster.watch import Watch

GROUP = "watched.example.com"
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"things.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Cluster",
        "names": {"kind": "Thing", "plural": "things"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}
THING = {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": {"name": "one"}}


def test_objects_that_end_with_their_kind_are_deleted_for_a_watch_whose_stream_has_ended(cluster: Cluster) -> None:
    cluster.kubectl("apply", "-f", "-", input=json.dumps(DEFINITION))
    cluster.kubectl("wait", "--for=condition=Established", f"crd/things.{GROUP}")
    cluster.kubectl("apply", "-f", "-", input=json.dumps(THING))
    with Watch(cluster, f"/apis/{GROUP}/v1/things") as things:
        things.until("the thing is listed", lambda found: "one" in found)
        stream = things._process
        while stream is None:
            things.next(0.1)
            stream = things._process
        os.kill(stream.pid, signal.SIGSTOP)
        try:
            cluster.kubectl("delete", "crd", f"things.{GROUP}")
        finally:
            stream.kill()
        things.until("the thing is gone", lambda found: not found)
