"""The hold of the deletion of a BundleDeployment whose Operator does not exist any more."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.api.bundle_annotations import BUNDLE_NAME_ANNOTATION, PACKAGE_ANNOTATION
from olmkit.api.bundledeployments import DELETION_HOLD_ANNOTATION
from operator_controller.operator.orphaned_holds import orphaned_hold_plan
from operator_controller.operator.resolution_request import make_orphan_request
from operator_controller.operator.running_bundle import read_running
from operator_controller.operator.world import HoldDeletion, ObservedBundleDeployment
from operator_controller.resolve.answers.answer import Answer, AnswerKind
from tests.unit.operator_controller.operator.worlds import bundle, bundle_annotations, deployment, image

HOLDERS = {"a": "Operator a", "c": "Operator other", "d": "BundleDeployment d"}


def held(reason: str, **changes: Any) -> ObservedBundleDeployment:
    """A BundleDeployment whose deletion is held."""
    raw = dict(deployment("1.0.0", **changes).raw)
    raw["metadata"] = {**raw["metadata"], "annotations": {DELETION_HOLD_ANNOTATION: reason}}
    return ObservedBundleDeployment.load(raw)


def answer(**changes: Any) -> Answer:
    return Answer("alpha", "uid", "", AnswerKind.DELETING, is_resolved=False, message="", text="", **changes)


@pytest.mark.parametrize(
    ("existing", "found", "expected"),
    [
        pytest.param("required by Operator a", answer(), "", id="nothing requires it any more"),
        pytest.param("required by Operator a", answer(needed_by=("a",)), None, id="what the hold names requires it"),
        pytest.param(
            "required by Operator a",
            answer(needed_by=("a", "c")),
            "required by Operator a, Operator other",
            id="others require it too",
        ),
        pytest.param(
            "required by Operator a",
            answer(required_by_deleting=("d",)),
            "required by BundleDeployment d",
            id="what requires it has no Operator either, and is deleted first",
        ),
    ],
)
def test_the_hold_of_an_orphan_says_what_requires_it(existing: str, found: Answer, expected: str | None) -> None:
    plan = None if expected is None else HoldDeletion("alpha", "uid-deployment", expected)
    assert orphaned_hold_plan(held(existing), found, HOLDERS) == plan


def test_an_orphan_counts_as_what_is_being_deleted() -> None:
    running, _ = read_running(bundle("1.0.0"))
    request = make_orphan_request(deployment("1.0.0"), running)
    assert request is not None
    assert (request.name, request.uid, request.is_deleting) == ("alpha", "uid-deployment", True)
    assert request.running is not None
    assert (request.running.name, request.running.image, request.installing) == ("p.v1.0.0", image("1.0.0"), None)


def test_an_orphan_that_is_being_upgraded_has_two_bundles() -> None:
    running, _ = read_running(bundle("1.0.0"))
    request = make_orphan_request(deployment("1.1.0"), running)
    assert request is not None
    assert [each.name for each in (request.running, request.installing) if each] == ["p.v1.0.0", "p.v1.1.0"]


def test_of_an_orphan_whose_bundle_is_gone_the_template_counts() -> None:
    request = make_orphan_request(deployment("1.1.0"), None)
    assert request is not None
    assert [each.name for each in (request.running, request.installing) if each] == ["p.v1.1.0"]


def test_what_no_operator_has_made_is_no_orphan() -> None:
    annotations = {key: text for key, text in bundle_annotations("1.0.0").items() if key != PACKAGE_ANNOTATION}
    assert annotations[BUNDLE_NAME_ANNOTATION]
    assert make_orphan_request(deployment("1.0.0", annotations=annotations), None) is None
