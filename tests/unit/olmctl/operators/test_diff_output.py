"""What `olm diff` prints."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from olmctl.diff.definitions import ConcernedObject, DefinitionChange
from olmctl.diff.objects import object_changes
from olmctl.diff.permissions import Permission
from olmctl.operators.diff_output import as_value, print_text
from olmctl.questions.difference import Difference
from olmkit.api.crd_upgrade_rules import CrdUpgradeRule
from olmkit.crd_safety.problem import InvalidObject, Problem
from rukpak.format.objects import BundleObject


def config(name: str, value: str) -> BundleObject:
    return BundleObject({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": value}})


SAME = Difference("ship", "1.0.0", "1.1.0", (), (), (), (), (), ())
SIZE = Problem("v1", "spec.size", CrdUpgradeRule.TYPE_CHANGED, "string -> integer")
LESS = Problem("v1", "spec.size", CrdUpgradeRule.MAX_LENGTH_TIGHTENED, "none -> 3")
FORMAT = Problem("v1", "spec.size", CrdUpgradeRule.FORMAT_CHANGED, 'none -> "date"')
GONE = Problem("v1", "spec.color", CrdUpgradeRule.FIELD_REMOVED, "the field is removed")
ARK = ConcernedObject(CrdUpgradeRule.EXISTING_OBJECT_LOSES_DATA, InvalidObject("ns", "ark", "spec.color is dropped"))
CHANGED = replace(
    SAME,
    objects=tuple(
        object_changes([config("log", "1"), config("old", "1")], [config("log", "2"), config("new", "x\x1b[1m")])
    ),
    gained=(Permission("ServiceAccount ns/ship", "", "apps", "deployments", "", "get"),),
    lost=(Permission("ServiceAccount ns/ship", "ns", "", "pods", "", "get"),),
    definitions=(
        DefinitionChange(
            "boats.example.com", ("version v2 is added",), (SIZE,), (LESS,), (FORMAT,), (GONE,), permitted=(ARK,)
        ),
    ),
    notes=("boats.example.com v1: its custom resources were not all checked: only 3",),
    refusals=('bundle "ship" needs Kubernetes 2.0 or newer',),
    missing_kinds=("Sea.example.com/v1",),
)

TEXT = """\
# ship: 1.0.0 -> 1.1.0
# refused: bundle "ship" needs Kubernetes 2.0 or newer
# waits for a kind that the cluster does not have: Sea.example.com/v1
# CustomResourceDefinition boats.example.com: version v2 is added
# CustomResourceDefinition boats.example.com: refused: v1: spec.size: type-changed: string -> integer
# CustomResourceDefinition boats.example.com: concerns custom resources: v1: spec.color: field-removed: the field is removed
# CustomResourceDefinition boats.example.com: concerns no custom resource: v1: spec.size: format-changed: none -> "date"
# CustomResourceDefinition boats.example.com: ignored: v1: spec.size: max-length-tightened: none -> 3
# CustomResourceDefinition boats.example.com: ignored: existing-object-loses-data: ns/ark: spec.color is dropped
# boats.example.com v1: its custom resources were not all checked: only 3
# permission gained: ServiceAccount ns/ship: get deployments.apps in all namespaces
# permission lost: ServiceAccount ns/ship: get pods in namespace ns
# objects: 1 added, 1 changed, 1 removed
--- ConfigMap log
+++ ConfigMap log
@@ -3,4 +3,4 @@
 metadata:
   name: log
 data:
-  a: '1'
+  a: '2'
--- /dev/null
+++ ConfigMap new
@@ -0,0 +1,6 @@
+apiVersion: v1
+kind: ConfigMap
+metadata:
+  name: new
+data:
+  a: "x\\e[1m"
--- ConfigMap old
+++ /dev/null
@@ -1,6 +0,0 @@
-apiVersion: v1
-kind: ConfigMap
-metadata:
-  name: old
-data:
-  a: '1'
"""


def test_one_line_is_printed_if_nothing_differs(capsys: pytest.CaptureFixture[str]) -> None:
    print_text(SAME, is_full=True)
    print_text(replace(SAME, old_version="1.1.0"), is_full=False)
    same, installed = capsys.readouterr().out.splitlines()
    assert same == "# ship: 1.0.0 -> 1.1.0: nothing would change"
    assert installed == "# ship: 1.1.0 is installed: nothing would change"
    assert not SAME.has_changes


def test_a_summary_is_followed_by_a_unified_diff(capsys: pytest.CaptureFixture[str]) -> None:
    print_text(CHANGED, is_full=True)
    assert capsys.readouterr().out == TEXT
    assert CHANGED.has_changes


def test_objects_of_summaries_are_named_and_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    print_text(CHANGED, is_full=False)
    *head, last = capsys.readouterr().out.splitlines()
    assert head == [*TEXT.partition("--- ")[0].splitlines(), "~ ConfigMap log", "+ ConfigMap new", "- ConfigMap old"]
    assert last == "# --full shows them"
    assert all(
        each.keys() == {"change", "group", "kind", "namespace", "name"}
        for each in as_value(CHANGED, is_full=False)["objects"]
    )


def test_the_same_change_in_several_fields_is_one_line_and_a_value_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    longer = [
        Problem(version, path, CrdUpgradeRule.MIN_LENGTH_TIGHTENED, "none -> 1")
        for version in ("v1", "v2")
        for path in ("spec.git.source", "spec.source")
    ]
    for sort in ("refused", "ignored", "noticeable", "concerning"):
        sorts: Any = {"refused": (), "ignored": (), sort: tuple(longer)}
        found = replace(SAME, definitions=(DefinitionChange("boats.example.com", (), **sorts),))
        print_text(found, is_full=True)
        _, line, hint, *_ = capsys.readouterr().out.splitlines()
        text = "v1, v2: spec.source and 1 more field that ends with source: min-length-tightened: none -> 1"
        assert (line.endswith(f": {text}"), hint) == (True, "# -o yaml names each field")
        (definition,) = as_value(found, is_full=True)["customResourceDefinitions"]
        assert [(each["version"], each["path"]) for each in definition[sort]] == [
            (each.version, each.path) for each in longer
        ]


def test_a_first_installation_begins_with_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    print_text(replace(CHANGED, old_version=""), is_full=True)
    assert capsys.readouterr().out.startswith("# ship: nothing -> 1.1.0\n")
    assert as_value(replace(SAME, old_version=""), is_full=True)["oldVersion"] is None


def test_the_value_has_every_part_of_the_difference() -> None:
    value = as_value(CHANGED, is_full=True)
    assert (value["operator"], value["oldVersion"], value["newVersion"]) == ("ship", "1.0.0", "1.1.0")
    assert value["refusals"] == ['bundle "ship" needs Kubernetes 2.0 or newer']
    assert value["missingKinds"] == ["Sea.example.com/v1"]
    assert [(each["change"], each["kind"], each["name"]) for each in value["objects"]] == [
        ("changed", "ConfigMap", "log"),
        ("added", "ConfigMap", "new"),
        ("removed", "ConfigMap", "old"),
    ]
    assert value["objects"][0]["old"]["data"] == {"a": "1"}
    assert value["objects"][0]["new"]["data"] == {"a": "2"}
    assert value["permissions"]["gained"] == [
        {
            "subject": "ServiceAccount ns/ship",
            "namespace": None,
            "apiGroup": "apps",
            "resource": "deployments",
            "resourceName": None,
            "verb": "get",
        }
    ]
    assert value["permissions"]["lost"][0]["namespace"] == "ns"
    (definition,) = value["customResourceDefinitions"]
    assert definition["refused"] == [
        {"version": "v1", "path": "spec.size", "rule": "type-changed", "change": "string -> integer"}
    ]
    assert [each["rule"] for each in definition["ignored"]] == ["max-length-tightened"]
    assert [each["rule"] for each in definition["concerning"]] == ["field-removed"]
    (lost,) = definition["ignoredCustomResources"]
    assert (lost["rule"], lost["namespace"], lost["name"]) == ("existing-object-loses-data", "ns", "ark")
    assert value["notes"] == ["boats.example.com v1: its custom resources were not all checked: only 3"]
