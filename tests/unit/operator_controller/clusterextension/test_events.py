"""Which ClusterExtensions a change enqueues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from olmkit.api.meta import Object
from olmkit.runtime.informer import Change, Informer
from operator_controller.clusterextension.events import Informers

LONG = "x" * 60
SHORT = "x" * 36 + "-42f2d973"


class Indexed:
    """An informer with these objects."""

    def __init__(self, *names: str) -> None:
        self.objects = {("", name): named(name) for name in names}
        self._index: Callable[[Object], list[str]] = lambda raw: []

    def add_index(self, name: str, keys: Callable[[Object], list[str]]) -> None:
        self._index = keys

    def by_index(self, name: str, key: str) -> list[Object]:
        return [raw for raw in self.objects.values() if key in self._index(raw)]


def named(name: str) -> Object:
    return {"metadata": {"name": name}}


def informers() -> Informers:
    return Informers(cast(Informer, Indexed("argo", LONG, SHORT)), cast(Informer, Indexed()))


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


def test_changes_of_a_clusterextension() -> None:
    assert informers().keys_of_extension(Change(None, named("argo"))) == {"argo"}


def test_all_are_enqueued_when_nobody_else_leads() -> None:
    found: list[Any] = []
    informers().enqueue_all(found.append)
    assert found == ["argo", LONG, SHORT]
