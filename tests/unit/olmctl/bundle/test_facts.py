"""The facts about a bundle that are recorded with its BundleDeployment."""

from __future__ import annotations

import json

import orjson

from olmctl.bundle.edges import Edges
from olmctl.bundle.facts import facts_of
from olmkit.api.bundle_annotations import (
    BUNDLE_NAME_ANNOTATION,
    PACKAGE_ANNOTATION,
    PROPERTIES_ANNOTATION,
    VERSION_ANNOTATION,
)
from tests.unit.olmctl.bundle.bundles import WIDGETS, widget_files, widgets

GVK = dict(zip(("group", "version", "kind"), WIDGETS, strict=True))


def test_a_registry_bundle() -> None:
    spec = {"replaces": "widgets.v0.9.0", "skips": ["widgets.v0.8.0", 7]}
    facts = widgets(annotations={"olm.skipRange": "<1.0.0"}, **spec)
    assert facts.edges == Edges("widgets.v1.0.0", "widgets.v0.9.0", ("widgets.v0.8.0",), "<1.0.0", "1.0.0")
    found = dict(facts.annotations())
    assert json.loads(found.pop(PROPERTIES_ANNOTATION)) == [{"type": "olm.gvk", "value": GVK}]
    assert found == {
        BUNDLE_NAME_ANNOTATION: "widgets.v1.0.0",
        VERSION_ANNOTATION: "1.0.0",
        PACKAGE_ANNOTATION: "widgets",
    }


def test_a_plain_bundle_says_nothing_about_itself() -> None:
    files = {"manifests/a.yaml": widget_files()["manifests/crd.yaml"]}
    facts = facts_of(files)
    assert (facts.registry, facts.package, facts.annotations(), facts.edges) == (None, "", {}, Edges(""))


def test_dependencies_that_cannot_be_read_are_a_problem_and_no_error() -> None:
    files = {**widget_files(), "metadata/dependencies.yaml": b"dependencies: [{value: 1}]"}
    facts = facts_of(files)
    assert (facts.package, facts.properties) == ("widgets", ())
    assert facts.problem == "metadata/dependencies.yaml: dependencies[0]: needs a type, which is a string"


def test_numbers_in_properties_are_recorded_as_numbers() -> None:
    rule = {"failureMessage": "", "any": {"constraints": [{"gvk": GVK}]}}
    listed = [{"type": "olm.constraint", "value": rule}, {"type": "olm.maxOpenShiftVersion", "value": 4.15}]
    files = {**widget_files(), "metadata/properties.yaml": orjson.dumps({"properties": listed})}
    facts = facts_of(files)
    assert {each.type: each.value for each in facts.properties}["olm.maxOpenShiftVersion"] == 4.15
    recorded = json.loads(facts.annotations()[PROPERTIES_ANNOTATION])
    assert [each["type"] for each in recorded] == ["olm.constraint", "olm.gvk"]


def test_skips_of_another_type_are_no_error() -> None:
    assert widgets(skips=True).edges == Edges("widgets.v1.0.0", version="1.0.0")
