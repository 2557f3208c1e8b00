"""Whose an Operator or a Catalog is, and which changes of it are refused for that."""

from __future__ import annotations

from typing import Any

import pytest

from olmctl.questions.errors import Refused
from olmctl.questions.next_steps import next_steps
from olmctl.questions.owners import change_refusal, deletion_refusal, is_called, owner_of
from olmctl.questions.upgrade import check_not_owned, nothing_to_do
from olmkit.api import clustercatalogs, clusterextensions
from olmkit.api.meta import Kind, controller_reference

Object = dict[str, Any]
EXTENSION = controller_reference(clusterextensions.KIND, "lamp", "u1")
CATALOG = controller_reference(clustercatalogs.KIND, "packages", "u2")
DEPLOYMENT = controller_reference(Kind("apps", "v1", "Deployment", "deployments"), "lamp", "u3")
EDIT = "kubectl edit clusterextensions.olm.operatorframework.io lamp"
GLOBAL = f"without spec.config.inline.watchNamespace ClusterExtension lamp watches all namespaces (`{EDIT}`)"
OWNED = f"Operator lamp belongs to ClusterExtension lamp, which sets this: change that ({EDIT})"


def owned(*references: Object, kind: str = "Operator", name: str = "lamp") -> Object:
    """An object with these owners."""
    return {"kind": kind, "metadata": {"name": name, "ownerReferences": list(references)}, "spec": {"packageName": "p"}}


@pytest.mark.parametrize(
    ("found", "owner", "change", "deletion"),
    [
        pytest.param(
            owned(EXTENSION),
            "ClusterExtension lamp",
            OWNED,
            "Operator lamp belongs to ClusterExtension lamp, which creates it again: delete that "
            "(kubectl delete clusterextensions.olm.operatorframework.io lamp)",
            id="an Operator of a ClusterExtension",
        ),
        pytest.param(
            owned(CATALOG, kind="Catalog", name="packages"),
            "ClusterCatalog packages",
            "Catalog packages belongs to ClusterCatalog packages, which sets this: change that "
            "(kubectl edit clustercatalogs.olm.operatorframework.io packages)",
            "Catalog packages belongs to ClusterCatalog packages, which creates it again: delete that "
            "(kubectl delete clustercatalogs.olm.operatorframework.io packages)",
            id="a Catalog of a ClusterCatalog",
        ),
        pytest.param(
            owned({**EXTENSION, "name": "a; rm\x1b[2K\nb"}),
            "ClusterExtension a; rm\ufffd[2K b",
            "Operator lamp belongs to ClusterExtension a; rm\ufffd[2K b, which sets this: change that "
            "(kubectl edit clusterextensions.olm.operatorframework.io 'a; rm\ufffd[2K b')",
            "Operator lamp belongs to ClusterExtension a; rm\ufffd[2K b, which creates it again: delete that "
            "(kubectl delete clusterextensions.olm.operatorframework.io 'a; rm\ufffd[2K b')",
            id="a name that no object can have stays one printable word of the command",
        ),
        pytest.param(owned(), "", "", "", id="an Operator of a person"),
        pytest.param(owned(DEPLOYMENT), "", "", "", id="an Operator of something else"),
        pytest.param(
            owned({**EXTENSION, "controller": False}), "", "", "", id="a reference without control makes no owner"
        ),
        pytest.param(
            owned({**EXTENSION, "apiVersion": "example.com/v1"}), "", "", "", id="the same kind of another group"
        ),
        pytest.param({"metadata": {"name": "lamp"}}, "", "", "", id="an object without references"),
    ],
)
def test_the_owner_and_what_is_refused(found: Object, owner: str, change: str, deletion: str) -> None:
    assert str(owner_of(found) or "") == owner
    assert (change_refusal(found), deletion_refusal(found)) == (change, deletion)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("lamp-short", True, id="its own name"),
        pytest.param("lamp", True, id="the name of its ClusterExtension"),
        pytest.param("other", False, id="any other name"),
    ],
)
def test_an_operator_is_called_as_its_clusterextension_too(name: str, expected: bool) -> None:
    assert is_called(owned(EXTENSION, name="lamp-short"), name) is expected


@pytest.mark.parametrize(
    ("changes", "is_refused"),
    [
        pytest.param({"version": "1.2.3"}, True, id="the version"),
        pytest.param({"version": ""}, True, id="no version"),
        pytest.param({"channels": ["stable", "beta"]}, True, id="the channels"),
        pytest.param({"upgradeConstraintPolicy": "Ignore"}, True, id="the policy of upgrade edges"),
        pytest.param({"install": {"progressDeadline": "10m"}}, True, id="the deadline"),
        pytest.param({"install": {"crdUpgradeSafety": {"policy": "None"}}}, True, id="the policy of CRD upgrades"),
        pytest.param(
            {"install": {"crdUpgradeSafety": {"ignoredRules": ["field-removed"]}}},
            False,
            id="a rule of CRD upgrades, which people set",
        ),
        pytest.param(
            {"install": {"rollback": "OnFailure", "adoptionPolicy": "IfUnowned"}},
            False,
            id="a rollback and the adoption, which people set",
        ),
        pytest.param({"install": {}}, False, id="nothing, as for an approval"),
    ],
)
def test_olm_upgrade_refuses_what_the_clusterextension_sets(changes: Object, is_refused: bool) -> None:
    check_not_owned(owned(), changes)
    if not is_refused:
        check_not_owned(owned(EXTENSION), changes)
        return
    with pytest.raises(Refused) as caught:
        check_not_owned(owned(EXTENSION), changes)
    assert caught.value.message == OWNED


def refused(*references: Object) -> Object:
    """An Operator that is pinned to a version which no catalog has."""
    found = owned(*references)
    found["metadata"]["generation"] = 1
    found["spec"]["version"] = "9.0.0"
    conditions = [
        {"type": "Ready", "status": "False", "reason": "ResolutionFailed", "message": "no"},
        {"type": "Resolved", "status": "False", "reason": "ResolutionFailed", "message": "no"},
    ]
    return {**found, "status": {"observedGeneration": 1, "conditions": conditions}}


@pytest.mark.parametrize(
    ("references", "modes", "expected"),
    [
        pytest.param(
            [EXTENSION],
            ["OwnNamespace"],
            f"spec.config.inline.watchNamespace of ClusterExtension lamp sets watchNamespaces (`{EDIT}`)",
            id="the field of a ClusterExtension",
        ),
        pytest.param([EXTENSION], ["AllNamespaces"], GLOBAL, id="it must name none, as the empty name is refused"),
        pytest.param(
            [EXTENSION],
            ["AllNamespaces", "OwnNamespace"],
            f"spec.config.inline.watchNamespace of ClusterExtension lamp sets watchNamespaces (`{EDIT}`); {GLOBAL}",
            id="it may name one or none",
        ),
        pytest.param([EXTENSION], ["MultiNamespace"], "", id="no field of it names several namespaces"),
        pytest.param([EXTENSION], None, "", id="what is wrong is not the install mode"),
        pytest.param([], ["OwnNamespace"], "", id="the message names the field of an Operator"),
    ],
)
def test_the_namespaces_to_watch_are_set_in_the_clusterextension(
    references: list[Object], modes: list[str] | None, expected: str
) -> None:
    found = refused(*references)
    del found["status"]["conditions"][1]
    found["status"]["failure"] = {"reason": "InvalidConfiguration", **({"installModes": modes} if modes else {})}
    assert next_steps(found, None) == expected


@pytest.mark.parametrize(
    ("references", "expected"),
    [
        pytest.param(
            [EXTENSION],
            "; spec.install.preflight.crdUpgradeSafety.enforcement None of ClusterExtension lamp permits each change of "
            f"CustomResourceDefinitions (`{EDIT}`)",
            id="the field of a ClusterExtension",
        ),
        pytest.param([], "", id="the option sets the field of an Operator"),
    ],
)
def test_what_permits_a_change_of_definitions(references: list[Object], expected: str) -> None:
    found = refused(*references)
    del found["status"]["conditions"][1]
    permitting = {"status": {"permittedBy": ["crdUpgradeSafety.ignoredRules"]}}
    ignoring = "`olm upgrade lamp --ignore-crd-rule RULE` permits what is refused"
    assert next_steps(found, permitting) == f"{ignoring}{expected}"


@pytest.mark.parametrize(
    ("references", "expected"),
    [
        pytest.param(
            [EXTENSION],
            "`kubectl annotate clusterextensions.olm.operatorframework.io lamp "
            "operators.operatorframework.io/service-account=NAMESPACE/NAME` names the ServiceAccount that it is installed as",
            id="the annotation of a ClusterExtension",
        ),
        pytest.param([], "", id="the message names the field of an Operator"),
    ],
)
def test_the_account_that_rukpak_requires_is_named_in_the_clusterextension(
    references: list[Object], expected: str
) -> None:
    found = refused(*references)
    del found["status"]["conditions"][1]
    found["status"]["failure"] = {"reason": "ServiceAccountRequired"}
    assert next_steps(found, None) == expected


def test_no_advice_names_an_option_that_is_refused() -> None:
    found = refused(EXTENSION)
    assert next_steps(found, None) == f"`{EDIT}` changes the version and the channels"
    assert nothing_to_do(found).endswith(f"(choose another version in ClusterExtension lamp ({EDIT}))")
    assert "--version" in next_steps(refused(), None)
    assert "--version" in nothing_to_do(refused())
