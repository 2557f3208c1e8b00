"""Which changes enqueue a BundleDeployment whose pass has observed what it depends on, and not recorded it yet."""

from __future__ import annotations

from typing import cast

import pytest

from olmkit.api import bundledeployments
from olmkit.api.customresourcedefinitions import CustomResourceDefinition
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Change, Informer
from rukpak.bundledeployment.cluster.rest_mapper import CRDS, NAMESPACES
from rukpak.bundledeployment.events import EventMapper
from rukpak.bundledeployment.world import Interests

NEEDS_BOATS = Interests(crds=frozenset({"boats.example.com"}))


def mapper() -> EventMapper:
    nobody = cast(Client, None)
    return EventMapper(Informer(nobody, bundledeployments.KIND), Informer(nobody, CRDS), Informer(nobody, NAMESPACES))


def keys_of_new_crd(events: EventMapper, name: str = "boats.example.com") -> list[str]:
    definition = CustomResourceDefinition(name, group="example.com", kind="Boat", plural="boats")
    metadata = {"name": name, "uid": "1", "resourceVersion": "1"}
    return list(events.keys_of_crd(Change(None, {"metadata": metadata, "definition": definition})))


def test_a_change_enqueues_whom_it_concerns_once_that_is_recorded() -> None:
    events = mapper()
    assert keys_of_new_crd(events) == []
    events.record("ship", NEEDS_BOATS, events.changes)
    assert keys_of_new_crd(events) == ["ship"]
    assert keys_of_new_crd(events, "cups.example.com") == []


@pytest.mark.parametrize(
    ("before", "is_missed"),
    [
        pytest.param(None, True, id="a pass that is the first to need it observes it again"),
        pytest.param(Interests(crds=frozenset({"cups.example.com"})), True, id="and so does one that needed another"),
        pytest.param(NEEDS_BOATS, False, id="it was enqueued by what the pass before had recorded"),
    ],
)
def test_a_change_during_the_pass_is_not_missed(before: Interests | None, is_missed: bool) -> None:
    events = mapper()
    if before is not None:
        events.record("ship", before, events.changes)
    changes_before = events.changes
    found = keys_of_new_crd(events)
    assert (found == []) is is_missed
    assert events.record("ship", NEEDS_BOATS, changes_before) is is_missed
    assert not events.record("ship", NEEDS_BOATS, changes_before), "the record is the same"


def test_nothing_is_missed_if_nothing_has_changed() -> None:
    events = mapper()
    assert not events.record("ship", NEEDS_BOATS, events.changes)
