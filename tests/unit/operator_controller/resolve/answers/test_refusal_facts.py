"""The typed facts of a resolution that selects no bundle."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from olmkit.api.failures import FailureReason
from olmkit.gocompat.version_range import MastermindsRange
from olmkit.gocompat.versions import parse_bundle_version
from olmkit.jobs import codec
from operator_controller.resolve.answers.answer import Answer, AnswerKind, RefusalFacts
from operator_controller.resolve.answers.refusal_facts import find_refusal_facts
from operator_controller.resolve.documents.document_reader import read_package
from operator_controller.resolve.snapshot.package_snapshot import (
    CatalogOffer,
    CatalogState,
    PackageRequest,
    PackageSnapshot,
    RunningBundle,
)
from tests.unit.operator_controller.resolve.selection.one_package import resolve

UNMET = {"type": "olm.constraint", "value": {"failureMessage": "x", "package": 7}}


def offer(catalog: str = "community", *properties: Any, **changes: Any) -> CatalogOffer:
    """Versions 1.0.0 and 2.0.0 in channel stable without an edge between them."""
    document = {
        "package": "p",
        "defaultChannel": "stable",
        "channels": [{"name": "stable", "entries": [{"name": "p.v1.0.0"}, {"name": "p.v2.0.0"}]}],
        "bundles": [
            {"name": f"p.v{version}", "version": version, "image": f"r/p:{version}", "properties": properties}
            for version in ("1.0.0", "2.0.0")
        ],
    }
    return CatalogOffer(catalog, package=read_package(document), **changes)


def without(catalog: str, state: CatalogState = CatalogState.SERVING, **changes: Any) -> CatalogOffer:
    """A catalog that does not offer the package, as far as is known."""
    return CatalogOffer(catalog, state=state, **changes)


REQUEST = PackageRequest("p")
RUNNING = RunningBundle("p.v1.0.0", "r/p:1.0.0", "p", parse_bundle_version("1.0.0"), "1.0.0", "community", "stable")
NO_VERSION = replace(REQUEST, versions=MastermindsRange.parse("9.x"))
SECOND = replace(REQUEST, versions=MastermindsRange.parse("2.0.0"))
FIRST_EXCLUDED = replace(REQUEST, excluded=frozenset([parse_bundle_version("1.0.0").precedence]))
NONE_LEFT = replace(REQUEST, excluded=frozenset(parse_bundle_version(one).precedence for one in ("1.0.0", "2.0.0")))


@pytest.mark.parametrize(
    ("request_", "offers", "running", "reason", "catalogs"),
    [
        pytest.param(REQUEST, (), None, "PackageNotFound", (), id="no catalog"),
        pytest.param(REQUEST, (without("a"),), None, "PackageNotFound", (), id="no catalog has the package"),
        pytest.param(NO_VERSION, (without("a"), offer("b")), None, "VersionNotFound", ("b",), id="one has it"),
        pytest.param(
            replace(REQUEST, channels=("beta",)),
            (offer(),),
            None,
            "VersionNotFound",
            ("community",),
            id="no such channel",
        ),
        pytest.param(
            NO_VERSION,
            (without("b", CatalogState.PENDING), offer("a")),
            None,
            "CatalogUnavailable",
            ("b",),
            id="one is new",
        ),
        pytest.param(
            REQUEST,
            (without("b", CatalogState.UNREACHABLE),),
            None,
            "CatalogUnavailable",
            ("b",),
            id="one is not known",
        ),
        pytest.param(
            REQUEST, (without("b", CatalogState.CACHED),), None, "PackageNotFound", (), id="what was read last counts"
        ),
        pytest.param(
            REQUEST, (without("b", CatalogState.UNAVAILABLE),), None, "PackageNotFound", (), id="one is not available"
        ),
        pytest.param(NONE_LEFT, (offer(),), None, "VersionExcluded", ("community",), id="all versions are excluded"),
        pytest.param(
            NONE_LEFT,
            (offer(), without("b", CatalogState.PENDING)),
            None,
            "CatalogUnavailable",
            ("b",),
            id="others may come",
        ),
        pytest.param(REQUEST, (offer("b"), offer("a")), None, "AmbiguousCatalogs", ("a", "b"), id="a tie"),
        pytest.param(SECOND, (offer(),), RUNNING, "NoUpgradeEdge", ("community",), id="no edge leads to it"),
        pytest.param(
            FIRST_EXCLUDED, (offer(),), RUNNING, "VersionExcluded", ("community",), id="what runs is excluded"
        ),
        pytest.param(
            replace(SECOND, excluded=FIRST_EXCLUDED.excluded),
            (offer(),),
            RUNNING,
            "NoUpgradeEdge",
            ("community",),
            id="what runs is excluded, and was not asked for",
        ),
        pytest.param(
            SECOND,
            (offer("other"),),
            replace(RUNNING, catalog="gone", image="r/x", name="x", version=None),
            "PackageNotFound",
            ("gone",),
            id="the catalog of what runs was deleted",
        ),
        pytest.param(
            SECOND,
            (without("community", CatalogState.UNAVAILABLE),),
            RUNNING,
            "PackageNotFound",
            ("community",),
            id="the catalog of what runs is not available",
        ),
        pytest.param(
            SECOND,
            (without("community", CatalogState.UNREACHABLE),),
            RUNNING,
            "CatalogUnavailable",
            ("community",),
            id="the catalog of what runs is not known",
        ),
        pytest.param(
            SECOND,
            (without("community", CatalogState.NOT_SELECTED),),
            RUNNING,
            "CatalogNotSelected",
            ("community",),
            id="the catalog of what runs is not selected",
        ),
        pytest.param(REQUEST, (offer("a", UNMET),), None, "RequirementsNotSatisfied", ("a",), id="it is not valid"),
        pytest.param(
            REQUEST,
            (without("a", CatalogState.TOO_LARGE, message="too large"),),
            None,
            "ResolutionFailed",
            ("a",),
            id="the package is too large",
        ),
    ],
)
def test_the_facts_of_a_refusal(
    request_: PackageRequest,
    offers: tuple[CatalogOffer, ...],
    running: RunningBundle | None,
    reason: str,
    catalogs: tuple[str, ...],
) -> None:
    found = find_refusal_facts(resolve(PackageSnapshot(request_, offers, running)))
    assert found == RefusalFacts(FailureReason(reason), catalogs)


def test_what_is_chosen_or_stays_has_none() -> None:
    assert find_refusal_facts(resolve(PackageSnapshot(REQUEST, (offer(),), None))) is None
    assert find_refusal_facts(resolve(PackageSnapshot(REQUEST, (), RUNNING))) is None


def test_they_cross_a_pipe() -> None:
    facts = RefusalFacts(FailureReason.AMBIGUOUS_CATALOGS, ("a", "b"))
    answer = Answer("alpha", "u", "d", AnswerKind.AMBIGUOUS_CATALOGS, False, "", "", refusal=facts)
    found = codec.from_json(Answer, codec.to_json(answer))
    assert found == answer
    assert isinstance(found.refusal and found.refusal.reason, FailureReason)
