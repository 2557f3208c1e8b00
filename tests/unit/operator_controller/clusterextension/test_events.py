"""Which ClusterExtensions a change enqueues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from olmkit.api import clustercatalogs
from olmkit.api.meta import Object
from olmkit.runtime.informer import Change, Informer
from operator_controller.clusterextension.events import Informers
from tests.unit.operator_controller.clusterextension.worlds import catalog_object, cluster_catalog_object

STALLED = {"type": "Stalled", "status": "True", "reason": "InvalidSource", "message": "", "lastTransitionTime": "t"}
BLOCKED = {**STALLED, "type": "Progressing", "status": "False", "reason": "Blocked"}
LONG = "x" * 60
SHORT = "x" * 36 + "-42f2d973"


class Indexed:
    """An informer with these objects."""

    def __init__(self, *names: str) -> None:
        self.objects = {("", name): named(name) for name in names}
        self._index: Callable[[Object], list[str]] = lambda raw: []

    def add_index(self, name: str, keys: Callable[[Object], list[str]]) -> None:
        self._index = keys

    def get(self, name: str) -> Object | None:
        return self.objects.get(("", name))

    def by_index(self, name: str, key: str) -> list[Object]:
        return [raw for raw in self.objects.values() if key in self._index(raw)]


def named(name: str) -> Object:
    return {"metadata": {"name": name}}


def informers(*catalog_objects: Object) -> Informers:
    extensions, operators, catalogs, cluster_catalogs = (
        Indexed("argo", LONG, SHORT),
        Indexed(SHORT),
        Indexed(),
        Indexed(),
    )
    for raw in catalog_objects:
        among = cluster_catalogs if raw["kind"] == clustercatalogs.KIND.kind else catalogs
        among.objects["", raw["metadata"]["name"]] = raw
    return Informers(*(cast(Informer, each) for each in (extensions, operators, catalogs, cluster_catalogs)))


@pytest.mark.parametrize(
    ("change", "keys"),
    [
        pytest.param(Change(None, named("argo")), {"argo"}, id="created"),
        pytest.param(Change(named("argo"), None), {"argo"}, id="deleted"),
        pytest.param(Change(None, named(SHORT)), {LONG, SHORT}, id="two ClusterExtensions want the name"),
        pytest.param(Change(None, named("other")), set[str](), id="an Operator of a person"),
    ],
)
def test_changes_of_an_operator(change: Change, keys: set[str]) -> None:
    assert informers().keys_of_operator(change) == keys


def extension(version: str, status: str = "", **metadata: Any) -> Object:
    raw = {"metadata": {"name": "argo", "resourceVersion": version, **metadata}, "spec": {}}
    return {**raw, "status": {"conditions": [status]}} if status else raw


@pytest.mark.parametrize(
    ("change", "keys"),
    [
        pytest.param(Change(None, extension("1")), {"argo"}, id="created"),
        pytest.param(Change(extension("1"), None), {"argo"}, id="deleted"),
        pytest.param(Change(extension("1"), extension("2", "s"), is_own_write=True), set(), id="its status is written"),
        pytest.param(Change(extension("1"), extension("2", "s")), {"argo"}, id="somebody else writes its status"),
        pytest.param(
            Change(extension("1"), extension("2", finalizers=["f"]), is_own_write=True),
            {"argo"},
            id="it gets the finalizer",
        ),
        pytest.param(
            Change(extension("1"), extension("3", "s", generation=2), is_own_write=True),
            {"argo"},
            id="its spec was changed before its status is written",
        ),
    ],
)
def test_changes_of_a_clusterextension(change: Change, keys: set[str]) -> None:
    assert set(informers().keys_of_extension(change)) == keys


def test_a_change_of_a_catalog_enqueues_those_without_an_operator() -> None:
    assert informers().keys_of_catalog(Change(None, named("any"))) == {"argo"}


@pytest.mark.parametrize(
    ("raw", "is_waited_for"),
    [
        pytest.param(catalog_object("new"), True, id="nothing was unpacked yet"),
        pytest.param(catalog_object("new", phase="Unpacking"), True, id="it is being unpacked"),
        pytest.param(catalog_object("new", failureReason="SourceUnreadable"), False, id="it cannot be read"),
        pytest.param(
            catalog_object("new", conditions=[STALLED]),
            False,
            id="a person has to change it",
        ),
        pytest.param(catalog_object("new", contentDigest="sha256:a"), False, id="it was unpacked"),
        pytest.param(catalog_object("new", spec={"availability": "Unavailable"}), False, id="it is turned off"),
    ],
)
def test_catalogs_that_are_unpacked_for_the_first_time(raw: Object, *, is_waited_for: bool) -> None:
    found = informers(raw).unpacking()
    assert [each.metadata.name for each in found] == (["new"] if is_waited_for else [])


@pytest.mark.parametrize(
    ("objects", "is_waited_for"),
    [
        pytest.param([cluster_catalog_object("new")], True, id="it has no Catalog yet"),
        pytest.param(
            [cluster_catalog_object("new"), catalog_object("new")], False, id="it has a Catalog, which is waited for"
        ),
        pytest.param([cluster_catalog_object("new", conditions=[BLOCKED])], False, id="it gets no Catalog"),
        pytest.param([cluster_catalog_object("new", mode="Unavailable")], False, id="it is turned off"),
        pytest.param(
            [cluster_catalog_object("new", deletionTimestamp="2026-01-02T00:00:00Z")], False, id="it is being deleted"
        ),
    ],
)
def test_clustercatalogs_that_are_about_to_get_a_catalog(objects: list[Object], *, is_waited_for: bool) -> None:
    found = informers(*objects).untranslated()
    assert [each.metadata.name for each in found] == (["new"] if is_waited_for else [])


def test_all_are_enqueued_when_nobody_else_leads() -> None:
    found: list[Any] = []
    informers().enqueue_all(found.append)
    assert found == ["argo", LONG, SHORT]
