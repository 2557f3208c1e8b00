"""What the conditions of a Namespace that is being deleted say about what it waits for."""

from __future__ import annotations

import pytest

from rukpak.bundledeployment.cluster.namespace_blockers import (
    CONTENT_FAILED,
    DISCOVERY_FAILED,
    NamespaceBlockers,
    blockers_of,
)
from rukpak.format.objects import ObjectKey

BOAT = 'conversion webhook for boats.example.com/v1, Kind=Boat failed: Post "https://h.gone.svc:443/": service "h" not found'
RAFT = "conversion webhook for rafts.example.com/v2, Kind=Raft failed: the server answered 404"
CACHE = f"storage is (re)initializing: failed to list boats.example.com/v2, Kind=Boat: {BOAT}"
BOOK = 'books.library.example.com is forbidden: User "system:serviceaccount:kube-system:x" cannot deletecollection'
PART = "unable to retrieve the complete list of server APIs: parts.example.com/v1: stale GroupVersion discovery"


def said(kind: str, message: str, status: str = "True") -> NamespaceBlockers:
    return blockers_of({"status": {"conditions": [{"type": kind, "status": status, "message": message}]}})


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(blockers_of({}), NamespaceBlockers(), id="its controller has not reported anything"),
        pytest.param(said(CONTENT_FAILED, "all content deleted", "False"), NamespaceBlockers(), id="nothing failed"),
        pytest.param(
            said(CONTENT_FAILED, f"Failed to delete all resource types, 2 remaining: {RAFT}, {BOAT}"),
            NamespaceBlockers(unconverted=("Boat.boats.example.com", "Raft.rafts.example.com")),
            id="kinds that cannot be converted, sorted",
        ),
        pytest.param(
            said(CONTENT_FAILED, f"Failed to delete all resource types, 2 remaining: {CACHE}, {RAFT}, {BOAT}"),
            NamespaceBlockers(unconverted=("Boat.boats.example.com", "Raft.rafts.example.com")),
            id="the same in another order, and through the cache of the API server",
        ),
        pytest.param(
            said(CONTENT_FAILED, f"Failed to delete all resource types, 1 remaining: {BOOK}"),
            NamespaceBlockers(forbidden=("books.library.example.com",)),
            id="an API server that refuses",
        ),
        pytest.param(
            said(DISCOVERY_FAILED, f"Discovery failed for some groups, 1 failing: {PART}"),
            NamespaceBlockers(undiscovered=("parts.example.com/v1",)),
            id="an API server that does not answer",
        ),
        pytest.param(
            said(CONTENT_FAILED, "Failed to delete all resource types, 1 remaining: etcdserver: request timed out"),
            NamespaceBlockers(is_unknown=True),
            id="something else",
        ),
    ],
)
def test_the_facts_in_the_conditions_are_known(found: NamespaceBlockers, expected: NamespaceBlockers) -> None:
    assert found == expected


@pytest.mark.parametrize(
    ("blockers", "sentence"),
    [
        pytest.param(NamespaceBlockers(), "", id="nothing is known"),
        pytest.param(
            NamespaceBlockers({ObjectKey("", "Pod", "a", "x"): ("b/c", "d/e")}, unconverted=("Boat.example.com",)),
            "Pod a/x (finalizers: b/c, d/e); custom resources of Boat.example.com, whose conversion webhook does not answer: "
            "see to the Service that the CustomResourceDefinition names in spec.conversion",
            id="finalizers and custom resources",
        ),
        pytest.param(
            NamespaceBlockers(forbidden=("books.example.com",), undiscovered=("parts.example.com/v1",)),
            "books.example.com, whose API server does not let the namespace controller delete them; the API "
            "parts.example.com/v1, which does not answer: see to its APIService",
            id="API servers of others",
        ),
        pytest.param(
            NamespaceBlockers(is_unknown=True),
            "what its controller cannot delete: its status.conditions say more",
            id="something else",
        ),
    ],
)
def test_a_sentence_says_what_it_waits_for(blockers: NamespaceBlockers, sentence: str) -> None:
    assert blockers.sentence() == sentence
