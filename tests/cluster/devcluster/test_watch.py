"""Watches of objects on a local cluster, when their stream ends, and when it is behind."""

import itertools
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest

from devcluster.api_client import Lines
from devcluster.cluster import Cluster
from devcluster.errors import DevclusterError
from devcluster.watch import Object, Watch

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


class LateWatch(Watch):
    """A watch whose events can be held back, and whose stream can be ended."""

    def __init__(self, cluster: Cluster, path: str) -> None:
        self.may_send = threading.Event()
        self.may_send.set()
        super().__init__(cluster, path)

    def _send(self, *arguments: Any) -> None:
        self.may_send.wait()
        super()._send(*arguments)

    def disconnect(self) -> None:
        while self._stream is None:
            self.next(0.1)
        self._stream.close()


@pytest.fixture
def things(cluster: Cluster) -> Iterator[LateWatch]:
    """A watch of the one thing that exists, until which its kind exists too."""
    cluster.kubectl("apply", "-f", "-", input=json.dumps(DEFINITION))
    try:
        cluster.kubectl("wait", "--for=condition=Established", f"crd/things.{GROUP}")
        # By its path: discovery follows a CRD that is Established.
        cluster.kubectl("create", "--raw", PATH, "--filename=-", input=json.dumps(THING))
        with LateWatch(cluster, PATH) as watch:
            watch.until("the thing is listed", lambda found: "one" in found)
            yield watch
    finally:
        cluster.kubectl("delete", "crd", f"things.{GROUP}", "--ignore-not-found")


@contextmanager
def paused(watch: LateWatch) -> Iterator[None]:
    """What the API server sends does not become an event."""
    watch.may_send.clear()
    try:
        yield
    finally:
        watch.may_send.set()


def test_objects_that_end_with_their_kind_are_deleted_for_a_watch_whose_stream_has_ended(
    cluster: Cluster, things: LateWatch
) -> None:
    with paused(things):
        cluster.kubectl("delete", "crd", f"things.{GROUP}")
        things.disconnect()
    things.until("the thing is gone", lambda found: not found)


def test_nothing_is_answered_from_before_a_change(cluster: Cluster, things: LateWatch) -> None:
    with paused(things):
        cluster.kubectl("label", f"things.{GROUP}", "one", "changed=yes")
        with pytest.raises(DevclusterError, match="have not come: there is a thing"):
            things.until("there is a thing", lambda found: "one" in found, seconds=2)
    labels = things.until("there is a thing", lambda found: found["one"]["metadata"])["labels"]
    assert labels == {"changed": "yes"}


def test_nothing_is_answered_from_before_a_deletion(cluster: Cluster, things: LateWatch) -> None:
    with paused(things):
        cluster.kubectl("delete", f"things.{GROUP}", "one")
        with pytest.raises(DevclusterError, match="have not come: there is an answer"):
            things.until("there is an answer", lambda found: True, seconds=2)
    assert things.until("there is an answer", lambda found: [*found] or ["none"]) == ["none"]


@dataclass
class ErrorTextLines:
    """The first line, and then an error."""

    lines: Lines
    has_written: threading.Event

    def __iter__(self) -> Iterator[bytes]:
        yield from itertools.islice(self.lines, 1)
        self.has_written.set()
        yield b"read tcp 127.0.0.1:58600->127.0.0.1:21010: read: connection reset by peer\n"

    def close(self) -> None:
        self.lines.close()


def _has_label(value: str, found: Mapping[str, Object]) -> bool:
    return bool(found["one"]["metadata"].get("labels") == {"is": value})


class WithErrorText:
    """The API of a cluster. What ends a watch is written into it as text, as kubectl's proxy does."""

    def __init__(self, cluster: Cluster) -> None:
        self.request = cluster.api.request
        self._lines = cluster.api.lines
        self.has_written = threading.Event()

    def lines(self, path: str) -> ErrorTextLines:
        return ErrorTextLines(self._lines(path), self.has_written)


def test_a_watch_outlives_an_error_that_is_written_into_its_stream(cluster: Cluster, things: LateWatch) -> None:
    api = WithErrorText(cluster)
    with Watch(cast(Cluster, SimpleNamespace(api=api)), PATH) as watch:
        watch.until("the thing is listed", lambda found: "one" in found)
        for value in ("first", "second"):
            cluster.kubectl("label", "--overwrite", f"things.{GROUP}", "one", f"is={value}")
            watch.until("it is changed", partial(_has_label, value))
        assert api.has_written.is_set()


def test_a_watch_outlives_the_api_server(cluster: Cluster, things: LateWatch) -> None:
    cluster.restart_apiserver()
    cluster.kubectl("label", f"things.{GROUP}", "one", "after=restart")
    things.until("the change is seen", lambda found: found["one"]["metadata"].get("labels") == {"after": "restart"})
