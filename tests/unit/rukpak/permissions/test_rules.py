"""Rules of RBAC as values: what they cover, and the shortest rules for certain rights."""

from __future__ import annotations

from typing import Any

import pytest

from rukpak.permissions.rules import EVERY_RULE, PlacedRule, Right, Rule, compact

POD = Right("a", "", "pods", "", "get")
ONE = Right("a", "", "pods", "x", "get")
LOG = Right("a", "", "pods/log", "", "get")
METRICS = Right("", "", "", "", "get", "/metrics")


def rule(verbs: str = "get", groups: str = "", resources: str = "pods", names: str = "", urls: str = "") -> Rule:
    fields: dict[str, Any] = {"verbs": verbs.split(","), "apiGroups": groups.split(",")}
    fields |= {"resources": resources.split(",") if resources else []}
    fields |= {"resourceNames": names.split(",") if names else None, "nonResourceURLs": urls.split(",") if urls else []}
    return Rule.load(fields)


@pytest.mark.parametrize(
    ("held", "wanted", "covers"),
    [
        pytest.param(rule(), POD, True, id="the same"),
        pytest.param(rule("get,list"), POD, True, id="one of several verbs"),
        pytest.param(rule("*"), POD, True, id="every verb"),
        pytest.param(rule("list"), POD, False, id="another verb"),
        pytest.param(rule(), POD._replace(verb="*"), False, id="every verb is more than one"),
        pytest.param(rule(groups="apps"), POD, False, id="another group"),
        pytest.param(rule(groups="*"), POD, True, id="every group"),
        pytest.param(rule(resources="*"), LOG, True, id="every resource has their subresources"),
        pytest.param(rule(), LOG, False, id="a subresource is another resource"),
        pytest.param(rule(resources="*/log"), LOG, True, id="a subresource of all"),
        pytest.param(rule(resources="*/log"), POD, False, id="a subresource of all is no resource"),
        pytest.param(rule(names="x"), ONE, True, id="an object by its name"),
        pytest.param(rule(names="y"), ONE, False, id="another object"),
        pytest.param(rule(names="x"), POD, False, id="one object is less than all"),
        pytest.param(rule(), ONE, True, id="all objects have the one"),
        pytest.param(rule(resources="", urls="/metrics"), METRICS, True, id="a path"),
        pytest.param(rule(resources="", urls="/m*"), METRICS, True, id="paths that begin so"),
        pytest.param(rule(resources="", urls="/x*"), METRICS, False, id="paths that begin otherwise"),
        pytest.param(rule(resources="*", groups="*", verbs="*"), METRICS, False, id="resources are no paths"),
        pytest.param(EVERY_RULE[1], METRICS, True, id="every path"),
    ],
)
def test_what_a_rule_covers(held: Rule, wanted: Right, covers: bool) -> None:
    assert held.covers(wanted) is covers


def test_a_rule_gives_each_verb_on_each_resource() -> None:
    found = set(rule("get,list", "apps", "deployments", "x,y").rights("a"))
    assert found == {Right("a", "apps", "deployments", name, verb) for name in "xy" for verb in ("get", "list")}
    assert set(rule("get", "", "", urls="/metrics").rights("")) == {METRICS}


def test_a_rule_of_another_type_gives_nothing() -> None:
    assert list(Rule.load({"verbs": "get", "apiGroups": [1], "resources": {"a": 1}}).rights("")) == []


def test_rights_become_few_rules() -> None:
    rights = {
        right
        for names in ("x,y", "")
        for resource in ("deployments", "daemonsets")
        for right in rule("get,patch", "apps", resource, names).rights("a")
    }
    expected = [
        PlacedRule("a", Rule(("get", "patch"), ("apps",), ("daemonsets", "deployments"))),
        PlacedRule("a", Rule(("get", "patch"), ("apps",), ("daemonsets", "deployments"), ("x", "y"))),
    ]
    assert compact([*rights, METRICS]) == [*expected, PlacedRule("", Rule(("get",), paths=("/metrics",)))]


def test_compact_rules_give_the_same_rights() -> None:
    rights = (
        set(rule("get,list", "apps,batch", "jobs,pods", "a,b").rights("n")) | set(rule("watch").rights("")) | {METRICS}
    )
    assert {right for placed in compact(rights) for right in placed.rule.rights(placed.namespace)} == rights


def test_a_right_is_asked_for_with_its_subresource() -> None:
    asked = {"namespace": "a", "verb": "get", "group": "", "resource": "pods", "subresource": "log"}
    assert LOG.attributes() == {"resourceAttributes": asked}
    assert METRICS.attributes() == {"nonResourceAttributes": {"path": "/metrics", "verb": "get"}}
