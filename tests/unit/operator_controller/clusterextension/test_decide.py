"""The Plan for a ClusterExtension, World by World."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from olmkit.api.catalogs import Catalog
from olmkit.api.clustercatalogs import ClusterCatalog
from olmkit.api.clusterextensions import FINALIZER
from olmkit.api.foreign_leader import ForeignLeader
from olmkit.api.meta import Object
from olmkit.errors import Blocked, OlmError, Waiting
from operator_controller.clusterextension.decide import decide
from operator_controller.clusterextension.world import (
    AdoptOperator,
    ChangeOperator,
    CreateOperator,
    DeleteOperator,
    Keep,
    Plan,
    ReleaseOperator,
    SetFinalizers,
    StandAside,
    World,
)
from tests.unit.operator_controller.clusterextension.worlds import (
    catalog_object,
    cluster_catalog_object,
    desired_operator,
    extension_object,
    operator_object,
    other_operator,
    owner,
    world,
)

GROUP = "operators.operatorframework.io"
PROTECTION = f"{GROUP}/deletion-protection"
ACCOUNT = f"{GROUP}/service-account"
UPSTREAM = ["olm.operatorframework.io/cleanup-unpack-cache", "olm.operatorframework.io/cleanup-contentmanager-cache"]
LEADER = ForeignLeader("olmv1-system", "9c4404e7.operatorframework.io", "upstream", timedelta(seconds=100))
DELETED = "2026-01-01T00:00:00Z"
RAW = extension_object()
OWN = operator_object(RAW)
DESIRED = desired_operator(RAW)


def deleting(*finalizers: str, **metadata: Any) -> Object:
    return extension_object(
        metadata={"deletionTimestamp": DELETED, "finalizers": [*(finalizers or (FINALIZER,))], **metadata}
    )


def dependency(package: str = "argo") -> Object:
    """An Operator that operator-controller has created because others require its package."""
    fields = {"f:spec": {"f:packageName": {}}, "f:metadata": {"f:labels": {f"f:{GROUP}/installed-for": {}}}}
    entry = {"manager": "operator-controller", "operation": "Apply", "fieldsV1": fields}
    return other_operator(package, labels={f"{GROUP}/installed-for": "beta"}, managedFields=[entry])


def handed_over(name: str, package: str = "argo", **metadata: Any) -> Object:
    return other_operator(package, annotations={f"{GROUP}/adopt-for": name}, **metadata)


def named(account: str) -> Object:
    """A ClusterExtension with the annotation that names a ServiceAccount."""
    return extension_object(metadata={"annotations": {ACCOUNT: account}})


def of_account(name: str, namespace: str) -> Object:
    """An Operator that is handed over, and is installed as a ServiceAccount."""
    account = {"serviceAccount": {"name": name, "namespace": namespace}}
    return {**handed_over("argo"), "spec": {"packageName": "argo", "install": account}}


def going(extension: Object) -> Object:
    """The ClusterExtension while it is being deleted."""
    return {**extension, "metadata": {**extension["metadata"], "deletionTimestamp": DELETED}}


OF_CLUSTERCATALOG = {"olm.operatorframework.io/owner-kind": "ClusterCatalog"}
CHOOSY = extension_object(catalog={"selector": {"matchLabels": {"team": "a"}}})
CHANGED = extension_object(catalog={"version": "2.x"})
PROTECTED = operator_object(RAW, metadata={"annotations": {PROTECTION: "true"}})
GOING = operator_object(RAW, metadata={"deletionTimestamp": DELETED})

PLANS: list[tuple[str, World, Plan]] = [
    (
        "the finalizer is added before anything is created, to those of others",
        world(extension_object(metadata={"finalizers": ["x/y"]})),
        SetFinalizers(("x/y", FINALIZER)),
    ),
    ("with the finalizer, the Operator is created", world(), CreateOperator(DESIRED)),
    (
        "a Catalog of a person that is being unpacked is not waited for",
        world(unpacking=(Catalog.load(catalog_object("of-a-person", owned=False)),)),
        CreateOperator(DESIRED),
    ),
    (
        "nor one that says that it is a ClusterCatalog's",
        world(unpacking=(Catalog.load(catalog_object("false", owned=False, labels=OF_CLUSTERCATALOG)),)),
        CreateOperator(DESIRED),
    ),
    (
        "nor one that the selector does not select",
        world(
            CHOOSY,
            unpacking=(Catalog.load(catalog_object("other", labels={"team": "b"})),),
            untranslated=(ClusterCatalog.load(cluster_catalog_object("new", labels={"team": "b"})),),
        ),
        CreateOperator(desired_operator(CHOOSY)),
    ),
    (
        "what is installed waits for no catalog",
        world(CHANGED, OWN, unpacking=(Catalog.load(catalog_object("late")),)),
        ChangeOperator("argo", "uid-of-operator", "9", {"spec": {"version": "2.x"}}),
    ),
    ("an Operator as desired is kept", world(operator=OWN), Keep()),
    (
        "one that differs is changed, as it was read",
        world(CHANGED, OWN),
        ChangeOperator("argo", "uid-of-operator", "9", {"spec": {"version": "2.x"}}),
    ),
    (
        "the finalizer is added again if somebody has removed it",
        world(extension_object(metadata={"finalizers": []}), OWN),
        SetFinalizers((FINALIZER,)),
    ),
    (
        "while a controller of OLM v1 acts, nothing is done",
        world(CHANGED, OWN, leader=LEADER),
        StandAside(LEADER.expires_in),
    ),
    (
        "also not when it is being deleted",
        world(deleting(), OWN, leader=LEADER),
        StandAside(LEADER.expires_in),
    ),
    ("a deletion deletes the Operator first", world(deleting(), OWN), DeleteOperator(OWN)),
    ("and waits for its end", world(deleting(), GOING), Keep()),
    (
        "then the finalizers go, and those that OLM v1 has left",
        world(deleting("x/y", FINALIZER, *UPSTREAM)),
        SetFinalizers(("x/y",)),
    ),
    ("the Operator of others is not deleted", world(deleting(), other_operator()), SetFinalizers(())),
    ("without the finalizer nothing is left to do", world(deleting("x/y")), Keep()),
    (
        "a protection that the ClusterExtension has lost is taken off the Operator before it is deleted",
        world(deleting(), PROTECTED),
        ChangeOperator("argo", "uid-of-operator", "9", {"metadata": {"annotations": {PROTECTION: None}}}),
    ),
    (
        "a protection that it has stays",
        world(deleting(annotations={PROTECTION: "true"}), PROTECTED),
        DeleteOperator(PROTECTED),
    ),
    ("with the finalizer orphan the Operator stays", world(deleting("orphan", FINALIZER), OWN), ReleaseOperator(OWN)),
    (
        "also if the garbage collector was faster",
        world(deleting(), OWN, was_orphaning=True),
        ReleaseOperator(OWN),
    ),
    (
        "a configuration with problems does not hold up a deletion",
        world({**deleting(), "spec": {**RAW["spec"], "config": {"configType": "Inline", "inline": {"a": 1}}}}, OWN),
        DeleteOperator(OWN),
    ),
    (
        "an account that is named during the deletion is handed on, and nothing else",
        world(going(named("tenant/blue")), GOING),
        ChangeOperator(
            *("argo", "uid-of-operator", "9"),
            {"spec": {"install": {"serviceAccount": {"namespace": "tenant", "name": "blue"}}}},
        ),
    ),
    (
        "an Operator that has the account of the annotation is deleted",
        world(going(named("tenant/blue")), operator_object(named("tenant/blue"))),
        DeleteOperator(operator_object(named("tenant/blue"))),
    ),
    (
        "an account that the Operator got during the deletion stays while the annotation names none",
        world(deleting(), operator_object(named("tenant/blue"), metadata={"deletionTimestamp": DELETED})),
        Keep(),
    ),
    ("a dependency becomes the extension's", world(operator=dependency()), AdoptOperator(dependency())),
    ("adopt-for takes an Operator over", world(operator=handed_over("argo")), AdoptOperator(handed_over("argo"))),
    (
        "also one with the account that the annotation names",
        world(named("tenant/blue"), of_account("blue", "tenant")),
        AdoptOperator(of_account("blue", "tenant")),
    ),
    (
        "and one without an account, which the annotation gives it afterwards",
        world(named("tenant/blue"), handed_over("argo")),
        AdoptOperator(handed_over("argo")),
    ),
    (
        "an annotation that cannot be read does not hold up a deletion",
        world(going(named("a/b/c")), OWN),
        DeleteOperator(OWN),
    ),
]


@pytest.mark.parametrize(("observed", "expected"), [pytest.param(*row[1:], id=row[0]) for row in PLANS])
def test_the_next_step(observed: World, expected: Plan) -> None:
    assert decide(observed).plan == expected


FOREIGN = 'Operator "argo" exists and does not belong to this ClusterExtension: '
HAND_OVER = (
    "delete it, or hand it over with what it has installed: "
    "kubectl annotate operators.operators.operatorframework.io argo operators.operatorframework.io/adopt-for=argo"
)
OTHER_PACKAGE = 'it is for package "other"; delete it, or give the ClusterExtension another name'
AGAIN = 'Operator "argo" is being deleted, and is created again afterwards'
INLINE = {"configType": "Inline", "inline": {"replicas": 2}}
SELECTOR = {"matchExpressions": [{"key": "a", "operator": "Equals"}]}

OTHER_ACCOUNT = (
    'Operator "argo" is installed as ServiceAccount tenant/blue: to take it over, annotate this ClusterExtension with '
    f"{ACCOUNT}=tenant/blue"
)
ERRORS: list[tuple[str, World, type[OlmError], str, str]] = [
    *(
        (
            f"an annotation that names no account: {value!r}",
            world(named(value), OWN),
            Blocked,
            "InvalidConfiguration",
            f'the annotation {ACCOUNT} is "{value}": write <namespace>/<name> of a ServiceAccount, or <name> for one of '
            "spec.namespace",
        )
        for value in ("", "/", "/me", "tenant/", "a/b/c", "Me", "a.b/me", "me ", "system:serviceaccount:a:b")
    ),
    (
        "an Operator with an account, for a ClusterExtension without one",
        world(operator=of_account("blue", "tenant")),
        Blocked,
        "Blocked",
        OTHER_ACCOUNT,
    ),
    (
        "for one with another account",
        world(named("tenant/red"), of_account("blue", "tenant")),
        Blocked,
        "Blocked",
        OTHER_ACCOUNT,
    ),
    (
        "a ClusterCatalog that counts has no Catalog yet: there may be a tie",
        world(CHOOSY, untranslated=(ClusterCatalog.load(cluster_catalog_object("late", labels={"team": "a"})),)),
        Waiting,
        "Retrying",
        'error walking catalogs: error getting package "argo" from catalog "late": catalog "late" is not being served',
    ),
    (
        "a catalog that counts is being unpacked for the first time: there may be a tie",
        world(unpacking=(Catalog.load(catalog_object("late")), Catalog.load(catalog_object("of-others", owned=False)))),
        Waiting,
        "Retrying",
        'error walking catalogs: error getting package "argo" from catalog "late": catalog "late" is not being served',
    ),
    ("an Operator of a person", world(operator=other_operator()), Blocked, "Blocked", FOREIGN + HAND_OVER),
    (
        "one that is handed over to another ClusterExtension",
        world(operator=handed_over("other")),
        Blocked,
        "Blocked",
        FOREIGN + HAND_OVER,
    ),
    (
        "one for another package, whoever asks",
        world(operator=handed_over("argo", "other")),
        Blocked,
        "Blocked",
        FOREIGN + OTHER_PACKAGE,
    ),
    (
        "a dependency for another package",
        world(operator=dependency("other")),
        Blocked,
        "Blocked",
        FOREIGN + OTHER_PACKAGE,
    ),
    (
        "one of another ClusterExtension",
        world(operator=handed_over("argo", ownerReferences=[owner("other", "u")])),
        Blocked,
        "Blocked",
        f'{FOREIGN}ClusterExtension "other" owns it; delete one of them, or give one another name',
    ),
    (
        "one of an earlier ClusterExtension of the name",
        world(operator=other_operator(ownerReferences=[owner("argo", "an earlier uid")])),
        Waiting,
        "Retrying",
        AGAIN,
    ),
    ("its own, which somebody has deleted", world(operator=GOING), Waiting, "Retrying", AGAIN),
    (
        "a configuration with problems; what is installed stays",
        world(extension_object(config=INLINE), OWN),
        Blocked,
        "InvalidConfiguration",
        'invalid ClusterExtension configuration: invalid configuration: unknown field "replicas"',
    ),
    (
        "a selector that selects nothing valid",
        world(extension_object(catalog={"selector": SELECTOR})),
        Blocked,
        "Retrying",
        'desired catalog selector is invalid: "Equals" is no operator of a label selector: use In, NotIn, Exists, DoesNotExist',
    ),
    (
        "a selector with as many expressions as an Operator has: it needs one more",
        world(extension_object(catalog={"selector": {"matchExpressions": [{"key": "a", "operator": "Exists"}] * 64}})),
        Blocked,
        "Retrying",
        "desired catalog selector is invalid: matchLabels may have 64 entries, and matchExpressions 63",
    ),
    (
        "a prerelease that is no version: what is installed stays",
        world(extension_object(catalog={"version": ">=1.0.0-01"}), OWN),
        Blocked,
        "Retrying",
        'desired version range ">=1.0.0-01" is invalid: a version is "1.2.3", a range is ">=1.2.0 <2.0.0", "~1.4" or "1.x"',
    ),
]


@pytest.mark.parametrize(
    ("observed", "error", "reason", "message"), [pytest.param(*row[1:], id=row[0]) for row in ERRORS]
)
def test_what_prevents_a_step(observed: World, error: type[OlmError], reason: str, message: str) -> None:
    plan = decide(observed).plan
    assert isinstance(plan, error)
    assert (plan.reason, plan.message) == (reason, message)
