"""The page of an Operator."""

from __future__ import annotations

from typing import Any

import pytest
from markupsafe import Markup

from console.graph_layout import layout
from console.views.operator import OperatorInput, event_rows, graph_view, operator_view
from console.views.operator_notes import EndingInstance
from olmctl.authoring.graph_drawing import DrawingInput, draw
from olmctl.questions.extensions import ExtensionProblem
from olmkit.api import clusterextensions
from olmkit.api.meta import Kind, controller_reference
from olmkit.fbc.catalog import Channel, Entry, Package

FINDING = {"crd": "boats.example.com", "rule": "field-removed", "refuses": "Always", "message": "v1: spec.color"}


@pytest.mark.parametrize(
    ("check", "title", "lines"),
    [
        pytest.param(None, "1.1.0 waits for your approval.", (), id="it is not known"),
        pytest.param({"result": "NotRefused"}, "1.1.0 waits for your approval.", (), id="no rule refuses it"),
        pytest.param(
            {"result": "IfUsed", "findings": [FINDING]},
            "1.1.0 waits for your approval.",
            (
                "It is refused if custom resources have what these rules are about; the review says whether they do.",
                "boats.example.com: field-removed: v1: spec.color",
            ),
            id="custom resources decide",
        ),
        pytest.param(
            {"result": "Refused", "findings": [FINDING], "more": 1},
            "1.1.0 would be refused.",
            (
                "It breaks rules about CustomResourceDefinitions.",
                "boats.example.com: field-removed: v1: spec.color",
                "and 1 more",
            ),
            id="it is refused",
        ),
    ],
)
def test_the_rules_that_refuse_what_waits(check: Any, title: str, lines: tuple[str, ...]) -> None:
    available = {"version": "1.1.0", "reason": "ApprovalRequired", "message": "m", "crdCheck": check}
    operator = {
        "metadata": {"name": "alpha", "generation": 1},
        "spec": {"packageName": "p"},
        "status": {"observedGeneration": 1, "available": available},
    }
    waiting = operator_view(OperatorInput(operator)).waiting
    assert waiting is not None
    assert (waiting.title, waiting.broken) == (title, lines)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        pytest.param({}, "", id="it is not known"),
        pytest.param({("g", "K"): 0}, "0 instances", id="none"),
        pytest.param({("g", "K"): 1}, "1 instance", id="one"),
        pytest.param({("g", "K"): 7}, "7 instances", id="several"),
    ],
)
def test_a_kind_says_how_many_instances_it_has(counts: Any, expected: str) -> None:
    api = {"group": "g", "version": "v1", "kind": "K"}
    operator = {"metadata": {"name": "alpha"}, "spec": {}, "status": {"installed": {"apis": [api]}}}
    served = {("g", "K"): Kind("g", "v1", "K", "ks")}
    view = operator_view(OperatorInput(operator, served=served, counts=counts))
    assert [each.count for each in view.instance_types] == [expected]
    assert [each.count for each in view.tabs if each.text == "Instances"] == [""]


def test_a_row_of_the_graph_leads_to_the_review_of_its_version() -> None:
    entries = [Entry(f"p.v1.{at}.0", f"p.v1.{at - 1}.0" if at else "", (), "") for at in range(5)]
    versions = {each.name: each.name.partition(".v")[2] for each in entries}
    channel = Channel("stable", "p", tuple(entries))
    package = Package("p", "stable", "", None)
    parts = DrawingInput(package, [channel], versions, (), frozenset({"p.v1.1.0"}), frozenset({"p.v1.2.0", "p.v1.3.0"}))
    drawn = layout(draw("p", parts), versions, "stable")
    operator = {"metadata": {"name": "alpha"}, "status": {"installed": {"version": "1.1.0"}}}
    shown = graph_view(drawn, Markup(), operator, "/catalog/c/p", ns="team-a")

    assert [(row.version, row.action, row.review) for row in shown.rows] == [
        ("1.4.0", "", ""),
        ("1.3.0", "Upgrade", "/operators/alpha/upgrade?version=1.3.0&ns=team-a"),
        ("1.2.0", "Upgrade", "/operators/alpha/upgrade?version=1.2.0&ns=team-a"),
        ("1.1.0", "", ""),
        ("1.0.0", "Roll back", "/operators/alpha/rollback?version=1.0.0&ns=team-a"),
    ]
    assert shown.rows[0].reason == "No upgrade leads here from 1.1.0."
    assert shown.rows[1].detail == "Upgrades from 1.2.0 (replaces)."
    assert not any(row.review for row in graph_view(drawn, Markup(), None, "/catalog/c/p").rows)

    operator["spec"] = {"excludedVersions": ["1.1.0+build", "1.3.0"]}
    rows = graph_view(drawn, Markup(), operator, "/catalog/c/p").rows
    assert {row.version: row.review for row in rows if row.action == "Permit again"} == {
        "1.3.0": "/operators/alpha/permit?version=1.3.0",
        "1.1.0": "/operators/alpha/permit?version=1.1.0",
    }


def test_the_overview_names_what_has_failed() -> None:
    operator: dict[str, Any] = {"metadata": {"name": "alpha"}, "spec": {}, "status": {}}
    assert "Failure" not in {each.name for each in operator_view(OperatorInput(operator)).facts}
    operator["status"] = {"failure": {"reason": "AmbiguousCatalogs", "catalogs": ["a", "b"]}}
    facts = {each.name: each.value for each in operator_view(OperatorInput(operator)).facts}
    assert facts["Failure"] == "AmbiguousCatalogs (catalogs a, b)"


def test_each_excluded_version_can_be_permitted_again() -> None:
    operator = {"metadata": {"name": "alpha"}, "spec": {"packageName": "p", "excludedVersions": ["1.0.0", "1.1.0"]}}
    shown = operator_view(OperatorInput(operator, ns="team-a")).excluded
    assert [(each.version, each.permit.path, each.permit.commands) for each in shown] == [
        ("1.0.0", "/operators/alpha/permit?version=1.0.0&ns=team-a", ("olm exclude alpha 1.0.0 --undo",)),
        ("1.1.0", "/operators/alpha/permit?version=1.1.0&ns=team-a", ("olm exclude alpha 1.1.0 --undo",)),
    ]
    refused = operator_view(OperatorInput(operator, refusal="You may not patch operators.")).excluded
    assert {each.permit.reason for each in refused} == {"You may not patch operators."}


EXPLANATION = "1.1.0 waits for approval: approve it; 1.1.0 of channel stable: the best of 2 versions"


def explained(**metadata: Any) -> dict[str, Any]:
    """An Operator whose status says the same in several places."""
    messages = {
        "Installed": "installed from x",
        "Ready": EXPLANATION,
        "Resolved": "resolved to y",
        "Stalled": "resolved to y",
    }
    conditions = [{"type": each, "status": "True", "message": text} for each, text in messages.items()]
    status = {"observedGeneration": 1, "resolution": EXPLANATION, "conditions": conditions}
    return {"metadata": {"name": "alpha", "generation": 1, **metadata}, "spec": {"packageName": "p"}, "status": status}


@pytest.mark.parametrize(
    ("tab", "expected"),
    [
        pytest.param("", ["See Why.", "It is another one."], id="not beside the explanation"),
        pytest.param("events", [EXPLANATION, "It is another one."], id="whole on their own page"),
    ],
)
def test_an_explanation_is_said_once(tab: str, expected: list[str]) -> None:
    events = [{"message": EXPLANATION, "lastTimestamp": "2"}, {"message": "It is another one.", "lastTimestamp": "1"}]
    shown = operator_view(OperatorInput(explained(), tab=tab, events=events))
    assert shown.resolution == (
        "1.1.0 waits for approval: approve it.",
        "1.1.0 of channel stable: the best of 2 versions.",
    )
    assert [each.message for each in shown.conditions] == [
        "installed from x",
        "See Why.",
        "resolved to y",
        "See above.",
    ]
    assert [each.message for each in shown.events] == expected


def test_events_of_one_second_are_in_the_order_in_which_they_were_written() -> None:
    written = {"first": "9", "last": "11", "between": "10", "of another form": "x"}
    events = [
        {"message": text, "lastTimestamp": "2026-01-01T00:00:00Z", "metadata": {"resourceVersion": version}}
        for text, version in written.items()
    ]
    assert [each.message for each in event_rows(events)] == ["last", "between", "first", "of another form"]


HELD = EndingInstance("Boat", "shop/orders", "/instances/b/v1/boats/shop/orders", ("b/clean",))


@pytest.mark.parametrize(
    ("reason", "ending", "expected"),
    [
        pytest.param("", (), [("It is being uninstalled.", "", "")], id="nothing is reported yet"),
        pytest.param(
            "Removing",
            (HELD, EndingInstance("Boat", "shop/free", "/x", ())),
            [
                ("It is being uninstalled.", "Waiting for Boat shop/orders.", ""),
                (
                    "Boat shop/orders is waited for.",
                    "Its finalizers are still there: b/clean. The operator removes them while it runs.",
                    HELD.path,
                ),
            ],
            id="an instance has finalizers",
        ),
    ],
)
def test_an_uninstallation_says_what_it_waits_for(
    reason: str, ending: tuple[EndingInstance, ...], expected: list[Any]
) -> None:
    ready = {"type": "Ready", "status": "False", "reason": reason, "message": "waiting for Boat shop/orders"}
    operator = explained(deletionTimestamp="2026-01-01T00:00:00Z")
    operator["status"]["available"] = {"version": "1.1.0", "reason": "ApprovalRequired"}
    shown = operator_view(OperatorInput(operator, {"status": {"conditions": [ready]}}, ending=ending))
    found = [(each.title, each.text, each.href) for each in shown.notes]
    assert [
        each if isinstance(want, tuple) else each[0] for each, want in zip(found, expected, strict=True)
    ] == expected
    assert (shown.waiting, shown.actions, shown.resolution) == (None, (), ("It is being deleted.",))


def test_of_many_instances_that_an_uninstallation_waits_for_the_first_are_named() -> None:
    operator = explained(deletionTimestamp="2026-01-01T00:00:00Z")
    titles = [each.title for each in operator_view(OperatorInput(operator, ending=[HELD] * 7)).notes]
    assert titles[1:] == [*["Boat shop/orders is waited for."] * 5, "2 more instances are waited for."]


def test_an_uninstallation_that_others_block_says_so() -> None:
    operator = explained(deletionTimestamp="2026-01-01T00:00:00Z")
    operator["status"]["conditions"] = [
        {"type": "Ready", "status": "False", "reason": "DeletionBlocked", "message": "beta requires it"}
    ]
    assert [(each.title, each.text) for each in operator_view(OperatorInput(operator)).notes] == [
        ("It cannot be uninstalled yet.", "Beta requires it.")
    ]


@pytest.mark.parametrize(
    ("about", "expected"),
    [
        pytest.param(("", ""), "Nothing is installed yet.", id="the catalog says nothing"),
        pytest.param(("Boats", ""), "Boats. Nothing is installed yet.", id="a name"),
        pytest.param(("Boats", "Yard"), "Boats by Yard. Nothing is installed yet.", id="a name and a publisher"),
    ],
)
def test_the_summary_has_the_words_of_the_publisher(about: tuple[str, str], expected: str) -> None:
    assert operator_view(OperatorInput(explained(), about=about)).summary.startswith(expected)


@pytest.mark.parametrize(("apis", "expected"), [([], False), ([{"kind": "Boat"}], True)])
def test_an_operator_with_kinds_leads_to_the_form_of_an_instance(apis: list[Any], *, expected: bool) -> None:
    operator = explained()
    operator["status"]["installed"] = {"version": "1.0.0", "apis": apis}
    shown = {each.text: each.path for each in operator_view(OperatorInput(operator)).actions}
    assert (shown.get("Create an instance") == "/operators/alpha/instances") is expected


def owned() -> dict[str, Any]:
    """An Operator of a ClusterExtension, with a version that its spec keeps out."""
    operator = explained()
    reference = controller_reference(clusterextensions.KIND, "boats", "u")
    operator |= {"kind": "Operator", "metadata": {**operator["metadata"], "ownerReferences": [reference]}}
    operator["status"]["available"] = {"version": "2.0.0", "reason": "Edge"}
    return operator


def test_the_problem_of_a_clusterextension_is_the_first_note_of_its_operator() -> None:
    problem = ExtensionProblem("InvalidConfiguration", 'unknown field "x"')
    view = operator_view(OperatorInput(owned(), problem=problem))
    assert view.badges[0].text == "Invalid configuration"
    assert (view.notes[0].title, view.notes[0].text, view.notes[0].command) == (
        "ClusterExtension boats reports InvalidConfiguration.",
        'Unknown field "x".',
        "kubectl edit clusterextensions.olm.operatorframework.io boats",
    )


def test_what_a_clusterextension_sets_is_not_offered_on_the_page_of_its_operator() -> None:
    view = operator_view(OperatorInput(owned()))
    assert "of ClusterExtension boats" in [each.text for each in view.badges]
    assert ("Belongs to", "ClusterExtension boats") in [(each.name, each.value) for each in view.facts]
    edit = "Operator alpha belongs to ClusterExtension boats, which sets this: change that"
    delete = "Operator alpha belongs to ClusterExtension boats, which creates it again: delete that"
    assert view.waiting is not None
    shown = {
        each.text: (each.reason.partition(" (")[0], each.commands) for each in (*view.actions, *view.waiting.actions)
    }
    assert shown.pop("Pause")[0] == ""
    assert shown == {
        "Change version": (edit, ()),
        "Protect from deletion": (edit, ()),
        "Uninstall": (delete, ()),
        "Change what it follows": (edit, ()),
    }


def test_an_operator_of_nobody_has_no_owner_on_its_page() -> None:
    view = operator_view(OperatorInput(explained()))
    assert [each.text for each in view.badges if each.text.startswith("of ")] == []
    assert [each.reason for each in view.actions if each.reason] == []
