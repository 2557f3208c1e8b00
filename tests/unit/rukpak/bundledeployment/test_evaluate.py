"""What an upgrade changes for good, and what an installation waits for. Other blockers are tested with decisions and reports."""

import ast
import inspect
import textwrap
from dataclasses import fields, replace
from typing import Any

import pytest

from olmkit.api.bundledeployments import Reason
from olmkit.errors import Waiting
from rukpak.bundledeployment.apply.install import awaited_endpoints
from rukpak.bundledeployment.cluster.namespace_info import NamespaceInfo
from rukpak.bundledeployment.decide import decide
from rukpak.bundledeployment.evaluate import evaluate
from rukpak.bundledeployment.observe import Observer
from rukpak.bundledeployment.rendered_bundle import MissingContent, RenderedBundle
from rukpak.bundledeployment.world import World
from tests.unit.rukpak.bundledeployment.worlds import (
    DEFINITION,
    NOW,
    SECRET,
    crd,
    installed,
    inventoried,
    namespace,
    rendered,
    unpacked,
    upgrading,
    world,
)


def observed_last() -> set[str]:
    """The fields of the World that are read after it was evaluated."""
    method = ast.parse(textwrap.dedent(inspect.getsource(Observer._with_state)))
    calls = (node for node in ast.walk(method) if isinstance(node, ast.Call) and ast.unparse(node.func) == "replace")
    return {keyword.arg for call in calls for keyword in call.keywords if keyword.arg is not None}


OBSERVED_LAST = observed_last()


class Early(World):
    """A World that is not complete: whoever reads what is observed last fails."""

    def __getattribute__(self, name: str) -> Any:
        assert name not in OBSERVED_LAST
        return super().__getattribute__(name)


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(world(), id="nothing is done yet"),
        pytest.param(inventoried(unpacked()), id="it is being installed"),
        pytest.param(installed(), id="it is installed"),
        pytest.param(upgrading(), id="it is being upgraded"),
        pytest.param(replace(upgrading(), content=MissingContent()), id="its content is missing"),
    ],
)
def test_what_is_observed_last_depends_on_the_evaluation_and_not_the_other_way_round(seen: World) -> None:
    assert len(OBSERVED_LAST) >= 4
    early = Early(**{each.name: getattr(seen, each.name) for each in fields(seen)})
    evaluation = evaluate(early)
    assert repr(evaluation) == repr(evaluate(seen)), "an error equals no other one"
    for content in (early.content, early.active_content):
        if isinstance(content, RenderedBundle):
            assert awaited_endpoints(early, content) == awaited_endpoints(seen, content)
    complete = replace(seen, evaluation=evaluation)
    assert decide(complete).evaluation is evaluation, "it is made once"
    assert repr(decide(complete).plan) == repr(decide(seen).plan)


PORT, PIER = "port", "pier"
REQUIRES = rendered(SECRET, required_namespaces=frozenset({PORT, PIER}))


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        pytest.param(
            (),
            "Namespace pier, Namespace port do not exist: create them",
            id="none is there",
        ),
        pytest.param(
            (namespace(PIER, is_member=False),),
            "Namespace port does not exist: create it",
            id="one is not there",
        ),
        pytest.param(
            (namespace(PIER, is_member=False), namespace(PORT, is_member=False, deletion_timestamp=NOW)),
            "create it again when its deletion is complete: Namespace port",
            id="one is being deleted",
        ),
        pytest.param((namespace(PIER, is_member=False), namespace(PORT, is_member=False)), None, id="both are there"),
    ],
)
def test_namespaces_that_have_to_exist_are_waited_for(facts: tuple[NamespaceInfo, ...], text: str | None) -> None:
    there = {each.name: each for each in facts}
    found = evaluate(replace(unpacked(content=REQUIRES), namespaces=there)).blocker
    assert (found.message if found is not None else None) == text
    assert found is None or (type(found), found.reason) == (Waiting, Reason.WAITING_FOR_NAMESPACE)
    again = evaluate(replace(installed(), content=replace(REQUIRES, bundle="b"), namespaces=there)).blocker
    assert repr(again) == repr(found), "also when it is installed: nothing is created again"


def test_a_crd_of_others_moves_no_storage_version_of_ours() -> None:
    seen = upgrading(rendered(digest="v2", storage="v2"))
    assert evaluate(replace(seen, crds={DEFINITION.name: crd(owner_uid="")})).irreversible == ""
    assert evaluate(replace(seen, content=MissingContent())).irreversible == ""
