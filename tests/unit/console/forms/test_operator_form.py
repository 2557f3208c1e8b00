"""The form of an Operator: the Operator that it leads to, what it refuses, and that it changes nothing by itself."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.forms.operator_form import (
    CHOICES,
    Mode,
    completed,
    default_mode,
    field_of,
    modes_of,
    namespaces,
    read,
    suggestion,
    texts_of,
)

LABEL = "olm.operatorframework.io/metadata.name"
OLD: dict[str, Any] = {"spec": {"packageName": "p"}}
START = {"name": "p"}


def spec(**texts: str) -> dict[str, Any]:
    found = read({**START, **texts}, OLD)
    assert found.problems == {}
    assert found.operator["metadata"] == {"name": "p"}
    result: dict[str, Any] = {key: value for key, value in found.operator["spec"].items() if key != "packageName"}
    return result


SPECS = [
    pytest.param({}, {}, id="defaults are not written"),
    pytest.param(
        {"channel": "stable", "catalog": "c"},
        {"channel": "stable", "catalogSelector": {"matchLabels": {LABEL: "c"}}},
        id="channel and catalog",
    ),
    pytest.param({"follow": "range", "range": ">=1.2 <2", "version": "9.9.9"}, {"version": ">=1.2 <2"}, id="a range"),
    pytest.param({"follow": "pinned", "version": "1.2.3"}, {"version": "1.2.3"}, id="one version"),
    pytest.param({"follow": "newest", "range": "1.x"}, {}, id="the newest, whatever stands at the range"),
    pytest.param({"approval": "Manual"}, {"approval": "Manual"}, id="approval"),
    pytest.param({"approval": "Automatic", "rollback": "Never", "deletionPolicy": "Cascade"}, {}, id="chosen defaults"),
    pytest.param(
        {"namespace": "ns", "watch": "own"},
        {"install": {"namespace": "ns", "watchNamespaces": ["ns"]}},
        id="its own namespace",
    ),
    pytest.param(
        {"watch": "some", "watched": "a, b  a"}, {"install": {"watchNamespaces": ["a", "b"]}}, id="some namespaces"
    ),
    pytest.param(
        {"account": "sa", "accountNamespace": "ns"},
        {"install": {"serviceAccount": {"name": "sa", "namespace": "ns"}}},
        id="an account",
    ),
    pytest.param(
        {"cpu": "1", "memoryLimit": "1Gi"},
        {"install": {"config": {"resources": {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}}}}},
        id="resources",
    ),
    pytest.param(
        {"env": "LOG: debug\r\nNUMBER: 1\r\nFLAG: true\r\n"},
        {
            "install": {
                "config": {
                    "env": [
                        {"name": "LOG", "value": "debug"},
                        {"name": "NUMBER", "value": "1"},
                        {"name": "FLAG", "value": "true"},
                    ]
                }
            }
        },
        id="variables",
    ),
    pytest.param(
        {"deletionPolicy": "Orphan", "rollback": "OnFailure", "upgradeConstraintPolicy": "Ignore"},
        {"install": {"deletionPolicy": "Orphan", "rollback": "OnFailure"}, "upgradeConstraintPolicy": "Ignore"},
        id="policies",
    ),
]


@pytest.mark.parametrize(("texts", "expected"), SPECS)
def test_the_operator_of_a_form(texts: dict[str, str], expected: dict[str, Any]) -> None:
    assert spec(**texts) == expected


PROBLEMS = [
    pytest.param({"name": ""}, "name", "is required", id="no name"),
    pytest.param({"name": "a" * 46}, "name", "at most 45", id="a long name"),
    pytest.param({"name": "Kube_system"}, "name", "lower-case", id="a name with signs"),
    pytest.param({"namespace": "kube-system"}, "namespace", "belong to Kubernetes", id="a namespace of Kubernetes"),
    pytest.param({"namespace": "A"}, "namespace", "lower-case", id="a namespace with capitals"),
    pytest.param({"follow": "range"}, "range", "is required", id="no range"),
    pytest.param({"follow": "range", "range": "x y"}, "range", "a range is", id="no range that is understood"),
    pytest.param({"follow": "range", "range": "1 " * 5000}, "range", "at most 64", id="a long range"),
    pytest.param({"follow": "pinned", "version": "1.x"}, "version", "one version", id="a range for a version"),
    pytest.param({"follow": "never"}, "follow", "must be one of", id="nothing to follow"),
    pytest.param({"approval": "Maybe"}, "approval", "must be one of Automatic, Manual", id="no approval"),
    pytest.param({"watch": "own"}, "namespace", "the one that is watched", id="its own namespace without a name"),
    pytest.param({"watch": "some"}, "watched", "at least one", id="some namespaces, but none"),
    pytest.param({"watch": "some", "watched": "a,B!"}, "watched", "B! is no name", id="no name of a namespace"),
    pytest.param(
        {"watch": "some", "watched": ",".join(f"n{n}" for n in range(300))}, "watched", "at most 256", id="many"
    ),
    pytest.param({"account": "sa"}, "accountNamespace", "is required unless", id="an account without a namespace"),
    pytest.param({"accountNamespace": "ns"}, "account", "name the ServiceAccount", id="a namespace without an account"),
    pytest.param({"env": "a: ["}, "env", "line ", id="no YAML"),
    pytest.param({"env": "text"}, "env", "one variable in each line", id="no variables"),
]


@pytest.mark.parametrize(("texts", "field", "problem"), PROBLEMS)
def test_what_is_wrong_stands_at_its_field(texts: dict[str, str], field: str, problem: str) -> None:
    assert problem in read({**START, **texts}, OLD).problems[field]


REQUIRED: dict[str, Any] = {
    "spec": {"packageName": "p", "install": {"namespace": "port", "namespacePolicy": "MustExist"}}
}


@pytest.mark.parametrize(
    ("namespace", "problem"),
    [
        pytest.param("kube-system", None, id="one of Kubernetes may be installed into"),
        pytest.param("A", "a name has lower-case letters", id="it has to be a name"),
        pytest.param("", "is required: namespacePolicy is MustExist", id="it cannot be left out"),
    ],
)
def test_a_namespace_that_has_to_exist_is_named(namespace: str, problem: str | None) -> None:
    found = read({**START, "namespace": namespace}, REQUIRED)
    assert found.problems.get("namespace", "").startswith(problem or "")
    assert ("namespace" in found.problems) is (problem is not None)
    assert found.operator["spec"]["install"]["namespacePolicy"] == "MustExist"


def test_modes_that_a_version_does_not_support_say_so() -> None:
    listed = [{"type": "AllNamespaces", "supported": False}, {"type": "OwnNamespace", "supported": True}, "x"]
    modes = modes_of(listed, "3.5.0")
    assert modes == (
        Mode("all", "All namespaces", "not supported by 3.5.0"),
        Mode("own", "Its own"),
        Mode("some", "Some", "not supported by 3.5.0"),
    )
    assert default_mode(modes) == "own"
    assert read({**START, "watch": "some", "watched": "a"}, OLD, modes).problems == {"watch": "not supported by 3.5.0"}
    assert not any(mode.reason for mode in modes_of(None, ""))


FIELDS = [
    ("spec.channel", "channel"),
    (".spec.version", "version"),
    ("metadata.name", "name"),
    ("spec.install.namespace", "namespace"),
    ("spec.install.watchNamespaces[0]", "watched"),
    ("spec.install.config.resources.limits.cpu", "cpuLimit"),
    ("spec.install.config.env[0].name", "env"),
    ("spec.install.serviceAccount", "account"),
    ("spec.install.serviceAccount.name", "account"),
    ("spec.catalogSelector.matchLabels", "catalog"),
    ("spec.paused", ""),
]


@pytest.mark.parametrize(("error", "field"), FIELDS)
def test_errors_of_the_api_server_stand_at_their_field(error: str, field: str) -> None:
    assert field_of(error) == field


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        pytest.param({"approval": "Manual"}, {"channels": ["a", "b"], "approval": "Manual"}, id="they stay"),
        pytest.param({"channel": "a"}, {"channel": "a"}, id="one that is chosen takes their place"),
    ],
)
def test_channels_are_no_field_of_the_form(texts: dict[str, str], expected: dict[str, Any]) -> None:
    before = {"metadata": {"name": "p"}, "spec": {"packageName": "p", "channels": ["a", "b"]}}
    assert read(texts, before).operator["spec"] == {"packageName": "p", **expected}


def test_names_of_namespaces() -> None:
    assert (namespaces(" a,b\n a "), namespaces("  ")) == (["a", "b"], [])


OPERATORS = st.fixed_dictionaries(
    {
        "packageName": st.just("p"),
        "version": st.sampled_from(["1.2.3", "1.x", ">=1 <2"]),
        "paused": st.booleans(),
        "excludedVersions": st.just(["1.2.4"]),
        "approval": st.sampled_from(CHOICES["approval"]),
        "install": st.fixed_dictionaries(
            {},
            optional={
                "namespace": st.just("ns"),
                "watchNamespaces": st.sampled_from([[""], ["ns"], ["a", "b"]]),
                "crdUpgradeSafety": st.just({"policy": "Strict"}),
                "deletionPolicy": st.sampled_from(CHOICES["deletionPolicy"]),
                "config": st.just(
                    {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}], "nodeSelector": {}}
                ),
            },
        ),
    }
)


@given(OPERATORS)
def test_a_form_that_nobody_changes_is_the_operator_again(spec: dict[str, Any]) -> None:
    before = {
        "apiVersion": "operators.operatorframework.io/v1alpha1",
        "kind": "Operator",
        "metadata": {"name": "p"},
        "spec": spec,
    }
    again = read(texts_of(before), before)
    assert (again.operator, again.problems) == (before, {})


@pytest.mark.parametrize(
    ("texts", "suggested", "namespace"),
    [
        pytest.param({"watch": "own"}, "notebooks", "notebooks", id="the suggested one"),
        pytest.param({"watch": "own", "namespace": "mine"}, "notebooks", "mine", id="the one that is named"),
        pytest.param({"watch": "all"}, "notebooks", None, id="all namespaces are watched"),
        pytest.param({"watch": "own"}, "", None, id="none is suggested"),
    ],
)
def test_an_operator_that_watches_its_own_namespace_gets_the_suggested_one(
    texts: dict[str, str], suggested: str, namespace: str | None
) -> None:
    assert completed(texts, suggested).get("namespace") == namespace


NAMESPACE, TEMPLATE = (f"operatorframework.io/suggested-namespace{each}" for each in ("", "-template"))
NAMED = '{"kind": "Namespace", "metadata": {"name": "from-template", "labels": {"a": "b"}}}'


@pytest.mark.parametrize(
    ("annotations", "package", "expected"),
    [
        pytest.param({NAMESPACE: "notes"}, "p", "notes", id="the name that the bundle suggests"),
        pytest.param({NAMESPACE: "notes", TEMPLATE: NAMED}, "p", "from-template", id="the template comes before it"),
        pytest.param({NAMESPACE: "notes", TEMPLATE: "{"}, "p", "notes", id="a template that is no JSON is left out"),
        pytest.param({TEMPLATE: '{"metadata": {}}'}, "p", "p-system", id="a template without a name"),
        pytest.param({NAMESPACE: "", TEMPLATE: ""}, "p", "p-system", id="empty annotations"),
        pytest.param({NAMESPACE: ["notes"], TEMPLATE: {}}, "p", "p-system", id="annotations that are no text"),
        pytest.param({NAMESPACE: "kube-system"}, "p", "p-system", id="never a namespace of Kubernetes"),
        pytest.param({NAMESPACE: "suite"}, "p", "p-system", id="never the namespace of the suite"),
        pytest.param({NAMESPACE: "olm-suite-keys"}, "p", "p-system", id="never the namespace of its keys"),
        pytest.param({NAMESPACE: "No_Name"}, "p", "p-system", id="a name that no namespace can have"),
        pytest.param({}, "My.Package", "my-package-system", id="a package whose name is no label"),
        pytest.param(
            {}, "kube-green", "operator-kube-green-system", id="a package named like a namespace of Kubernetes"
        ),
    ],
)
def test_the_namespace_of_the_form_is_the_one_of_the_installation(
    annotations: dict[str, object], package: str, expected: str
) -> None:
    assert suggestion(annotations, package, "suite") == expected
