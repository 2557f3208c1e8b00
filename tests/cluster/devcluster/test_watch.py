"""Watches of objects on a local cluster, when their stream ends, and when it is behind."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from devcluster.cluster import Cluster
from devcluster.errors import DevclusterError
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
PATH = f"/apis/{GROUP}/v1/things"
THING = {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": {"name": "one"}}


@pytest.fixture
def things(cluster: Cluster) -> Iterator[Watch]:
    """A watch of the one thing that exists, until which its kind exists too."""
    cluster.kubectl("apply", "-f", "-", input=json.dumps(DEFINITION))
    try:
        cluster.kubectl("wait", "--for=condition=Established", f"crd/things.{GROUP}")
        # By its path: discovery follows a CRD that is Established.
        cluster.kubectl("create", "--raw", PATH, "--filename=-", input=json.dumps(THING))
        with Watch(cluster, PATH) as watch:
            watch.until("the thing is listed", lambda found: "one" in found)
            yield watch
    finally:
        cluster.kubectl("delete", "crd", f"things.{GROUP}", "--ignore-not-found")


def stream_of(watch: Watch) -> int:
    """The process id of its stream."""
    while watch._process is None:
        watch.next(0.1)
    return watch._process.pid


@contextmanager
def paused(process: int) -> Iterator[None]:
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


def test_objects_that_end_with_their_kind_are_deleted_for_a_watch_whose_stream_has_ended(
    cluster: Cluster, things: Watch
) -> None:
    stream = stream_of(things)
    os.kill(stream, signal.SIGSTOP)
    try:
        cluster.kubectl("delete", "crd", f"things.{GROUP}")
    finally:
        os.kill(stream, signal.SIGKILL)
    things.until("the thing is gone", lambda found: not found)


def test_nothing_is_answered_from_before_a_change(cluster: Cluster, things: Watch) -> None:
    with paused(stream_of(things)):
        cluster.kubectl("label", f"things.{GROUP}", "one", "changed=yes")
        with pytest.raises(DevclusterError, match="have not come: there is a thing"):
            things.until("there is a thing", lambda found: "one" in found, seconds=2)
    labels = things.until("there is a thing", lambda found: found["one"]["metadata"])["labels"]
    assert labels == {"changed": "yes"}


def test_nothing_is_answered_from_before_a_deletion(cluster: Cluster, things: Watch) -> None:
    with paused(stream_of(things)):
        cluster.kubectl("delete", f"things.{GROUP}", "one")
        with pytest.raises(DevclusterError, match="have not come: there is an answer"):
            things.until("there is an answer", lambda found: True, seconds=2)
    assert things.until("there is an answer", lambda found: [*found] or ["none"]) == ["none"]
