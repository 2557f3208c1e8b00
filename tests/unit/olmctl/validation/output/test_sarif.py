"""Findings as SARIF."""

from __future__ import annotations

import json
from typing import Any

import pytest

from olmctl.validation.finding import Finding
from olmctl.validation.output.sarif import write
from olmctl.validation.result import Result

ERROR = Finding(
    "error", "Error: Field spec.skips[0]: a", "extra", "ValidationFailed", "spec.skips[0]", "", "manifests/a.yaml", 7, "skips",
    True, "Remove it.",
)  # fmt: skip
WARNING = Finding("warning", "Warning: Value a: b", "good-practices", rule="crd-permission")
BARE = Finding("error", "metadata not found in x", "load")


def run(*results: Result) -> dict[str, Any]:
    document = json.loads(write(results))
    assert (document["version"], document["$schema"].endswith("sarif-2.1.0.json")) == ("2.1.0", True)
    (only,) = document["runs"]
    made: dict[str, Any] = only
    return made


def test_a_finding_has_a_rule_a_place_and_help() -> None:
    made = run(Result("bundles/a", [ERROR]))
    (rule,) = made["tool"]["driver"]["rules"]
    assert (rule["id"], rule["help"]["text"], rule["properties"]["tags"]) == ("skips", "Remove it.", ["extra"])
    assert rule["shortDescription"]["text"] == "spec.skips has an entry that is no name of another bundle."
    (result,) = made["results"]
    assert (result["ruleId"], result["ruleIndex"], result["level"]) == ("skips", 0, "error")
    assert result["message"]["text"] == "Error: Field spec.skips[0]: a\nRemove it."
    (location,) = result["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "bundles/a/manifests/a.yaml", "uriBaseId": "SRCROOT"},
        "region": {"startLine": 7},
    }
    assert location["logicalLocations"] == [{"fullyQualifiedName": "spec.skips[0]"}]


def test_findings_of_several_bundles_share_their_rules() -> None:
    made = run(Result("a", [ERROR, WARNING]), Result("b", [ERROR]), Result("c"))
    assert [rule["id"] for rule in made["tool"]["driver"]["rules"]] == ["skips", "crd-permission"]
    assert [(each["ruleIndex"], each["properties"]["bundle"]) for each in made["results"]] == [
        (0, "a"),
        (1, "a"),
        (0, "b"),
    ]
    prints = [each["partialFingerprints"]["olmFinding/v1"] for each in made["results"]]
    assert len(set(prints)) == len(prints)


@pytest.mark.parametrize(
    ("bundle", "location"),
    [
        pytest.param("/a b/c", {"uri": "file:///a%20b/c"}, id="an absolute path"),
        pytest.param("./a/../b/", {"uri": "b", "uriBaseId": "SRCROOT"}, id="a relative path"),
        pytest.param("quay.io/a/b:v1", {"uri": "quay.io/a/b%3Av1", "uriBaseId": "SRCROOT"}, id="an image"),
    ],
)
def test_a_finding_without_a_file_is_about_the_bundle(bundle: str, location: dict[str, str]) -> None:
    (result,) = run(Result(bundle, [BARE]))["results"]
    assert result["locations"] == [{"physicalLocation": {"artifactLocation": location}}]
    assert result["ruleId"] == "load"


def test_no_text_makes_it_fail() -> None:
    odd = Finding("error", "\x00\ud800\n", "extra", file="a\udcff b", rule="x", hint="\ud800")
    assert run(Result("\udcff", [odd]))["results"][0]["ruleId"] == "x"


def test_it_has_the_form_that_the_schema_requires() -> None:
    made = run(Result("a", [ERROR, WARNING, BARE]))
    for result in made["results"]:
        assert set(result) == {
            "ruleId", "ruleIndex", "level", "message", "locations", "partialFingerprints", "properties",
        }  # fmt: skip
        assert result["level"] in ("error", "warning")
        assert made["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
