"""The Operator of a ClusterExtension, and how it is compared with the existing one."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.api.meta import Object
from operator_controller.clusterextension.operator_object import change_of
from tests.unit.operator_controller.clusterextension.worlds import (
    UID,
    desired_operator,
    extension_object,
    operator_object,
)

PROTECTION = "operators.operatorframework.io/deletion-protection"
OF_CLUSTERCATALOGS = {"key": "olm.operatorframework.io/owner-kind", "operator": "In", "values": ["ClusterCatalog"]}
LABELS = {
    "olm.operatorframework.io/owner-kind": "ClusterExtension",
    "olm.operatorframework.io/owner-name": "argo",
}
LONG = "a-name.of-a-clusterextension." + "x" * 170
SPEC: Object = {
    "packageName": "argo",
    "channels": ["*"],
    "catalogSelector": {"matchExpressions": [OF_CLUSTERCATALOGS]},
    "upgradeConstraintPolicy": "Enforce",
    "install": {
        "namespace": "argo-ns",
        "namespacePolicy": "MustExist",
        "installModePolicy": "Strict",
        "objectLabels": LABELS,
        "crdUpgradeSafety": {"policy": "Enforce"},
    },
}


def test_the_operator_of_the_smallest_clusterextension() -> None:
    assert desired_operator(extension_object()) == {
        "apiVersion": "operators.operatorframework.io/v1alpha1",
        "kind": "Operator",
        "metadata": {
            "name": "argo",
            "finalizers": ["operators.operatorframework.io/remove-bundle-deployment"],
            "ownerReferences": [
                {
                    "apiVersion": "olm.operatorframework.io/v1",
                    "kind": "ClusterExtension",
                    "name": "argo",
                    "uid": UID,
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": SPEC,
    }


def named(account: str) -> Object:
    return {"annotations": {"operators.operatorframework.io/service-account": account}}


def enforcement(value: str) -> Object:
    return {"preflight": {"crdUpgradeSafety": {"enforcement": value}}}


def inline(**values: Any) -> Object:
    return {"configType": "Inline", "inline": values}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"catalog": {"version": ">=1.2"}}, {"version": ">=1.2"}, id="version"),
        pytest.param(
            {"catalog": {"version": ">=1\t<2\r\n"}}, {"version": ">=1 <2  "}, id="blanks for other white space"
        ),
        pytest.param({"catalog": {"channels": ["a", "b"]}}, {"channels": ["a", "b"]}, id="channels"),
        pytest.param({"catalog": {"channels": []}}, {}, id="no channels are every channel"),
        pytest.param(
            {"catalog": {"upgradeConstraintPolicy": "SelfCertified"}},
            {"upgradeConstraintPolicy": "Ignore"},
            id="upgradeConstraintPolicy",
        ),
        pytest.param(
            {
                "catalog": {
                    "selector": {
                        "matchLabels": {"team": "a"},
                        "matchExpressions": [{"key": "tier", "operator": "Exists"}],
                    }
                }
            },
            {
                "catalogSelector": {
                    "matchLabels": {"team": "a"},
                    "matchExpressions": [{"key": "tier", "operator": "Exists"}, OF_CLUSTERCATALOGS],
                }
            },
            id="selector, and Catalogs of ClusterCatalogs only",
        ),
        pytest.param(
            {"install": enforcement("None")},
            {"install": {"crdUpgradeSafety": {"policy": "None"}}},
            id="enforcement None",
        ),
        pytest.param({"install": enforcement("Strict")}, {}, id="enforcement Strict is the default"),
        pytest.param(
            {"progressDeadlineMinutes": 15}, {"install": {"progressDeadline": "15m"}}, id="progressDeadlineMinutes"
        ),
        pytest.param(
            {"config": inline(watchNamespace="team-a", deploymentConfig={"nodeSelector": {"disk": "ssd"}})},
            {"install": {"watchNamespaces": ["team-a"], "config": {"nodeSelector": {"disk": "ssd"}}}},
            id="configuration",
        ),
        pytest.param({"serviceAccount": {"name": "installer"}}, {}, id="the ServiceAccount is ignored"),
        pytest.param(
            {"metadata": named("tenant/me")},
            {"install": {"serviceAccount": {"namespace": "tenant", "name": "me"}}},
            id="the annotation names a ServiceAccount",
        ),
        pytest.param(
            {"metadata": named("a.b")},
            {"install": {"serviceAccount": {"namespace": "argo-ns", "name": "a.b"}}},
            id="one without a namespace is in spec.namespace",
        ),
    ],
)
def test_each_field_of_the_spec_has_its_place_in_the_operator(spec: Object, expected: Object) -> None:
    written = {**SPEC, **expected, "install": {**SPEC["install"], **expected.get("install", {})}}
    assert desired_operator(extension_object(**spec))["spec"] == written


@pytest.mark.parametrize(
    ("name", "operator", "label"),
    [
        pytest.param("a.b.c", "a.b.c", "a.b.c", id="dots"),
        pytest.param("x" * 45, "x" * 45, "x" * 45, id="45 characters"),
        pytest.param("x" * 63, f"{'x' * 36}-75220b47", "x" * 63, id="63 characters"),
        pytest.param(
            LONG, "a-name.of-a-clusterextension.xxxxxxx-a08e599e", f"{LONG[:54]}-a08e599e", id="199 characters"
        ),
    ],
)
def test_a_name_that_is_too_long_is_shortened_by_itself_alone(name: str, operator: str, label: str) -> None:
    written = desired_operator(extension_object(name))
    assert written["metadata"]["name"] == operator
    assert written["spec"]["install"]["objectLabels"]["olm.operatorframework.io/owner-name"] == label


def install(**fields: Any) -> Object:
    return {"install": {**SPEC["install"], **fields}}


MINE = {"namespace": "argo-ns", "name": "me"}


def protected(value: str) -> Object:
    return {"annotations": {PROTECTION: value}}


@pytest.mark.parametrize(
    ("extension", "metadata", "spec", "change"),
    [
        pytest.param({}, {}, {}, {}, id="the Operator as it was written has no difference"),
        pytest.param(
            {},
            {"labels": {"a": "b"}},
            {
                "approval": "Manual",
                "paused": True,
                "excludedVersions": ["1.0.0"],
                "install": {
                    **SPEC["install"],
                    "deletionPolicy": "KeepCRDs",
                    "rollback": "OnFailure",
                    "crdUpgradeSafety": {"policy": "Enforce", "ignoredRules": ["enum"]},
                },
            },
            {},
            id="what people decide is left to them",
        ),
        pytest.param(
            {},
            {},
            {"channel": "stable", "version": "1.x", "install": {**SPEC["install"], "serviceAccount": {"name": "me"}}},
            {"spec": {"channel": None, "version": None, "install": {"serviceAccount": None}}},
            id="what others have written into owned fields is removed",
        ),
        pytest.param(
            {"catalog": {"channels": ["a"], "version": "2.0.0"}},
            {},
            {"channels": ["*"], "version": "1.0.0"},
            {"spec": {"channels": ["a"], "version": "2.0.0"}},
            id="a new spec is one write",
        ),
        pytest.param(
            {},
            {},
            {"channels": None, "install": None},
            {"spec": {"channels": ["*"], "install": SPEC["install"]}},
            id="fields that were removed are written again",
        ),
        pytest.param(
            {},
            {},
            install(crdUpgradeSafety={"policy": "None", "ignoredRules": ["enum"]}, config={"nodeSelector": {"a": "b"}}),
            {"spec": {"install": {"crdUpgradeSafety": {"policy": "Enforce"}, "config": None}}},
            id="of crdUpgradeSafety one field is owned",
        ),
        pytest.param(
            {"metadata": protected("true")},
            {"annotations": None},
            {},
            {"metadata": {"annotations": {PROTECTION: "true"}}},
            id="a ClusterExtension that is protected protects its Operator",
        ),
        pytest.param(
            {},
            protected("true"),
            {},
            {"metadata": {"annotations": {PROTECTION: None}}},
            id="the protection goes with that of the ClusterExtension",
        ),
        pytest.param({}, protected("no"), {}, {}, id="an annotation that protects nothing stays"),
        pytest.param(
            {"metadata": named("me")},
            {},
            {"approval": "Manual", "install": {**SPEC["install"], "adoptionPolicy": "IfUnowned"}},
            {"spec": {"approval": None, "install": {"adoptionPolicy": None, "serviceAccount": MINE}}},
            id="with a new account nothing stays that was decided for another one",
        ),
        pytest.param(
            {"metadata": named("me")},
            {},
            {"approval": "Manual", "install": {**SPEC["install"], "serviceAccount": {"name": "me"}}},
            {"spec": {"install": {"serviceAccount": {"namespace": "argo-ns"}}}},
            id="with the account as before, what people decide is left to them",
        ),
        pytest.param(
            {},
            {},
            {"approval": "Manual", "install": {**SPEC["install"], "serviceAccount": MINE}},
            {"spec": {"install": {"serviceAccount": None}}},
            id="the account goes with the annotation",
        ),
    ],
)
def test_a_difference_is_one_merge_patch(extension: Object, metadata: Object, spec: Object, change: Object) -> None:
    raw = extension_object(**extension)
    existing = operator_object(extension_object(), metadata=metadata, spec=spec)
    assert change_of(existing, desired_operator(raw)) == change


def test_after_the_change_there_is_no_difference() -> None:
    raw = extension_object(catalog={"channels": ["a"]}, config=inline(deploymentConfig={"affinity": {}}))
    existing = operator_object(
        extension_object(), spec={"channel": "b", **install(config={"affinity": {"nodeAffinity": {}}})}
    )
    changed = patched(existing, change_of(existing, desired_operator(raw)))
    assert changed["spec"]["install"]["config"] == {"affinity": {}}
    assert change_of(changed, desired_operator(raw)) == {}


def patched(target: Object, patch: Object) -> Object:
    """The target after the merge patch (RFC 7396)."""
    result = dict(target)
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict):
            result[name] = patched(result.get(name) or {}, value)
        else:
            result[name] = value
    return result
