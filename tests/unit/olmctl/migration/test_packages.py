"""The Operator that a Subscription becomes, and the reasons why it becomes none."""

from __future__ import annotations

from typing import Any

import pytest

from olmctl.migration.marks import MARK, is_being_removed
from olmctl.migration.packages import PackagePlan, changes_since, make_plan
from olmkit.api.operators import OperatorSpec
from tests.unit.olmctl.migration.v0_objects import Object, group, olm, source, subscription, version

INSTALLED = "lamp.v1.0.0"


def only(**given: Any) -> PackagePlan:
    (plan,) = make_plan(olm(**given), {}).packages
    return plan


def test_the_operator_of_a_subscription() -> None:
    plan = only()
    assert (plan.problems, plan.notes, plan.requires) == ((), (), ())
    assert plan.operator == {
        "apiVersion": "operators.operatorframework.io/v1alpha1",
        "kind": "Operator",
        "metadata": {"name": "lamp"},
        "spec": {
            "packageName": "lamp",
            "channel": "stable",
            "version": "1.0.0",
            "catalogSelector": {"matchLabels": {"olm.operatorframework.io/metadata.name": "community"}},
            "install": {
                "namespace": "lamps",
                "watchNamespaces": [""],
                "adoptionPolicy": "IfUnowned",
                "deletionPolicy": "KeepCRDs",
            },
        },
    }
    assert OperatorSpec.load(plan.operator["spec"]).dump() == plan.operator["spec"]


CONFIG = {
    "env": [{"name": "A", "value": "1"}],
    "resources": {"limits": {"memory": "1Gi"}},
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"operator": "Exists"}],
    "annotations": {"a": "b"},
}


@pytest.mark.parametrize(
    ("given", "field", "value"),
    [
        pytest.param({"subscriptions": [subscription(channel="")]}, "channel", None, id="no channel"),
        pytest.param(
            {"subscriptions": [subscription(installPlanApproval="Manual")]}, "approval", "Manual", id="manual approval"
        ),
        pytest.param(
            {"subscriptions": [subscription(config={**CONFIG, "selector": {"matchLabels": {}}})]},
            "install.config",
            CONFIG,
            id="config, without a selector that OLM v0 ignores",
        ),
        pytest.param(
            {"versions": [version(targets="lamps")]}, "install.watchNamespaces", ["lamps"], id="its own namespace"
        ),
        pytest.param(
            {"versions": [version(targets="b,a,b")]}, "install.watchNamespaces", ["a", "b"], id="several namespaces"
        ),
        pytest.param(
            {"operator_groups": [group(serviceAccountName="limited")]},
            "install.serviceAccount",
            {"name": "limited"},
            id="the account of the OperatorGroup",
        ),
        pytest.param({"versions": [version(version="v1.2")]}, "version", "1.2.0", id="a version as OLM v0 reads it"),
        pytest.param(
            {
                "versions": [
                    version(
                        "lamp", "lamps", {"type": "olm.package", "value": {"packageName": "lamp", "version": "1.0.0+a"}}
                    )
                ]
            },
            "version",
            "1.0.0+a",
            id="the version of the catalog counts before that of the ClusterServiceVersion",
        ),
    ],
)
def test_a_field_of_the_operator(given: Any, field: str, value: Any) -> None:
    plan = only(**given)
    assert (plan.problems, plan.operator is not None) == ((), True)
    found: Any = plan.operator["spec"] if plan.operator else None
    for step in field.split("."):
        found = found.get(step)
    assert found == value


def test_an_approved_version_stays_approved() -> None:
    plan = only(subscriptions=[subscription(installPlanApproval="Manual")])
    assert plan.operator is not None
    approved = {"operators.operatorframework.io/approved-version": "1.0.0"}
    assert plan.operator["metadata"] == {"name": "lamp", "annotations": approved}


def unpacked(kind: str, message: str) -> Object:
    return subscription(status={"conditions": [{"type": kind, "status": "True", "message": message}]})


OPERATOR: Object = {"metadata": {"name": "lamp"}, "spec": {"packageName": "lamp", "install": {"namespace": "lamps"}}}


@pytest.mark.parametrize(
    ("given", "problems"),
    [
        pytest.param({"subscriptions": [subscription(status={})]}, ["nothing is installed"], id="nothing installed"),
        pytest.param(
            {"subscriptions": [unpacked("BundleUnpackFailed", "image not found")]},
            ["nothing is installed: BundleUnpackFailed: image not found"],
            id="its bundle could not be unpacked",
        ),
        pytest.param(
            {"versions": []},
            ["its ClusterServiceVersion lamps/lamp.v1.0.0 does not exist"],
            id="no ClusterServiceVersion",
        ),
        pytest.param(
            {"versions": [], "operators": [OPERATOR]},
            [
                "its ClusterServiceVersion lamps/lamp.v1.0.0 does not exist: Operator lamp has the package, delete Subscription "
                "lamps/lamp, and run the command again"
            ],
            id="no ClusterServiceVersion, and an Operator from git",
        ),
        pytest.param(
            {"versions": [version(labels={"olm.copiedFrom": "a"})]},
            ["its ClusterServiceVersion lamps/lamp.v1.0.0 does not exist"],
            id="a copy is no ClusterServiceVersion",
        ),
        pytest.param(
            {"versions": [version(phase="Failed")]},
            ['ClusterServiceVersion lamps/lamp.v1.0.0 is in phase "Failed": wait until it is Succeeded'],
            id="not succeeded",
        ),
        pytest.param(
            {"subscriptions": [subscription(status={"installedCSV": INSTALLED, "currentCSV": "lamp.v1.1.0"})]},
            ["an upgrade to lamp.v1.1.0 is under way: wait until it has ended"],
            id="an upgrade under way",
        ),
        pytest.param(
            {"operator_groups": [group(), group(name="other")]},
            ["namespace lamps has 2 OperatorGroups (group, other)"],
            id="two OperatorGroups",
        ),
        pytest.param(
            {
                "subscriptions": [subscription(namespace="default")],
                "versions": [version(namespace="default")],
            },
            ["it is installed into namespace default, which belongs to Kubernetes"],
            id="a namespace of Kubernetes",
        ),
        pytest.param(
            {"catalog_sources": []},
            [
                "CatalogSource olm/community cannot be carried over: it does not exist: create a Catalog, and name it with "
                "--catalog (no InstallPlan is left that names the image of its bundle)"
            ],
            id="no CatalogSource",
        ),
        pytest.param(
            {
                "catalog_sources": [source(image=None, address="a:50051")],
                "install_plans": [
                    {
                        "metadata": {"namespace": "lamps"},
                        "status": {"bundleLookups": [{"identifier": INSTALLED, "path": "quay.io/lamp:v1"}]},
                    }
                ],
            },
            [
                "CatalogSource olm/community cannot be carried over: it is the address a:50051, and a Catalog reads an image: "
                "have the content in an image, create a Catalog of it, and name it with --catalog (the image of its bundle is "
                "quay.io/lamp:v1)"
            ],
            id="a CatalogSource that is an address",
        ),
        pytest.param(
            {"versions": [version(version="first")]},
            ['its ClusterServiceVersion has the version "first", which is none'],
            id="no version",
        ),
        pytest.param(
            {"versions": [version(targets=",".join(f"n{number}" for number in range(257)))]},
            ["it watches 257 namespaces, and an Operator at most 256: watch all of them"],
            id="too many namespaces",
        ),
    ],
)
def test_what_keeps_a_package_with_olm_v0(given: Any, problems: list[str]) -> None:
    assert list(only(**given).problems) == problems


def test_a_name_that_no_operator_can_have() -> None:
    plan = only(subscriptions=[subscription("Lamp_1", channel="stable!")], versions=[version("Lamp_1")])
    assert plan.problems == (
        '"Lamp_1" is no name that the spec of an Operator can have: small letters, digits, - and ., at most 253',
        'its channel "stable!" is none that the spec of an Operator can have',
    )


def test_a_package_that_is_installed_twice() -> None:
    twice = [subscription(), subscription(namespace="more")]
    plans = make_plan(olm(subscriptions=twice, versions=[version(), version(namespace="more")]), {}).packages
    assert [each.problems for each in plans] == [
        (
            "the package is installed by 2 Subscriptions (lamps/lamp, more/lamp), and an Operator is for the whole cluster: have "
            "OLM v0 remove all but one",
        )
    ] * 2


@pytest.mark.parametrize(
    ("given", "note"),
    [
        pytest.param(
            {
                "subscriptions": [
                    subscription(
                        status={"installedCSV": INSTALLED, "currentCSV": "lamp.v1.1.0"}, installPlanApproval="Manual"
                    )
                ]
            },
            "OLM v0 waits for the approval of lamp.v1.1.0: `olm approve` approves it afterwards",
            id="an upgrade that waits for approval",
        ),
        pytest.param(
            {"subscriptions": [subscription(config={"sidecars": []})]},
            "config.sidecars is not carried over: config of an Operator has no such field",
            id="an unknown field of config",
        ),
        pytest.param(
            {"versions": [version(), {**version(namespace="other"), **{"status": {"reason": "Copied"}}}]},
            "the copies of its ClusterServiceVersion in 1 other namespace are not needed, and are deleted",
            id="copies",
        ),
        pytest.param(
            {"versions": [version(cleanup={"enabled": True})]},
            "spec.cleanup of its bundle is not carried over: custom resources are never deleted with the Operator",
            id="cleanup",
        ),
        pytest.param(
            {"operator_groups": [group(upgradeStrategy="TechPreviewUnsafeFailForward")]},
            "upgradeStrategy TechPreviewUnsafeFailForward of the OperatorGroup is not carried over",
            id="a strategy of upgrades",
        ),
        pytest.param(
            {"versions": [version(targets="a")], "operator_groups": [group(selector={"matchLabels": {"a": "b"}})]},
            "the OperatorGroup selects namespaces by labels: those that it selects today are watched, later ones are not",
            id="namespaces by labels",
        ),
    ],
)
def test_what_is_said_about_a_package_that_is_moved(given: Any, note: str) -> None:
    plan = only(**given)
    assert (plan.problems, plan.notes) == ((), (note,))


def test_a_generated_subscription_is_one_of_a_dependency() -> None:
    made = subscription()
    made["metadata"]["name"] = "lamp-stable-community-olm"
    (note,) = only(subscriptions=[made]).notes
    assert note == "OLM v0 has generated the Subscription for a dependency: its Operator stays if nothing requires it"


def needs(kind: str, value: Object) -> Object:
    return version("cable", "lamps", {"type": kind, "value": value})


@pytest.mark.parametrize(
    "cable",
    [
        pytest.param(version("cable", definitions={"required": [{"name": "lamps.example.com"}]}), id="a definition"),
        pytest.param(needs("olm.package.required", {"packageName": "lamp"}), id="a package"),
    ],
)
def test_what_is_required_is_moved_before(cable: Object) -> None:
    found = olm(subscriptions=[subscription("cable"), subscription()], versions=[cable, version()])
    assert [(each.package, each.requires) for each in make_plan(found, {}).packages] == [
        ("lamp", ()),
        ("cable", ("lamp",)),
    ]


def test_packages_that_require_each_other_are_all_in_the_plan() -> None:
    cable = version("cable", definitions={"required": [{"name": "lamps.example.com"}]})
    lamp = version("lamp", definitions={"required": [{"name": "cables.example.com"}]})
    found = olm(subscriptions=[subscription("cable"), subscription()], versions=[cable, lamp])
    assert sorted(each.package for each in make_plan(found, {}).packages) == ["cable", "lamp"]


def test_what_no_subscription_explains_is_named() -> None:
    server = version("packageserver", "olm")
    server["metadata"]["name"] = "packageserver"
    plan = make_plan(olm(versions=[version(), version("bulb", "bulbs"), server]), {})
    assert plan.rest == (
        (
            "ClusterServiceVersion bulbs/bulb.v1.0.0",
            "it has no Subscription, so that neither its channel nor its catalog is known: `olm install` the package",
        ),
        ("ClusterServiceVersion olm/packageserver", "it is a part of OLM v0"),
    )


def test_what_was_written_by_strangers_is_read() -> None:
    odd = version("lamp", "lamps")
    odd["metadata"]["annotations"]["operatorframework.io/properties"] = '{"properties": [1, {"type": []}'
    odd["spec"]["customresourcedefinitions"] = "none"
    odd["spec"]["cleanup"] = []
    plan = only(versions=[odd], install_plans=[{"metadata": {}, "status": {"bundleLookups": ["x"]}}])
    assert plan.problems == ()


def with_uid(obj: Object, uid: str) -> Object:
    return {**obj, "metadata": {**obj["metadata"], "uid": uid}}


def upgraded(name: str) -> Object:
    return subscription(status={"installedCSV": name, "currentCSV": name})


@pytest.mark.parametrize(
    ("given", "changes"),
    [
        pytest.param({}, [], id="nothing has changed"),
        pytest.param(
            {"subscriptions": [upgraded("lamp.v1.1.0")]},
            ["Subscription lamps/lamp has lamp.v1.1.0 installed, and not lamp.v1.0.0"],
            id="it was upgraded",
        ),
        pytest.param(
            {"subscriptions": [subscription(status={})]},
            ["Subscription lamps/lamp has nothing installed, and not lamp.v1.0.0"],
            id="it was removed",
        ),
        pytest.param({"subscriptions": []}, ["Subscription lamps/lamp is gone"], id="no Subscription"),
        pytest.param(
            {"subscriptions": [with_uid(subscription(), "2")]}, ["Subscription lamps/lamp is gone"], id="a new one"
        ),
        pytest.param(
            {"subscriptions": [subscription(channel="fast")]},
            ["Subscription lamps/lamp has another spec"],
            id="its spec",
        ),
        pytest.param({"versions": []}, ["ClusterServiceVersion lamps/lamp.v1.0.0 is gone"], id="no version"),
        pytest.param(
            {"versions": [with_uid(version(), "2")]},
            ["ClusterServiceVersion lamps/lamp.v1.0.0 is gone"],
            id="a new version of the same name",
        ),
        pytest.param(
            {"versions": [version(replaces="x")]},
            ["ClusterServiceVersion lamps/lamp.v1.0.0 has another spec"],
            id="the spec of its version",
        ),
        pytest.param(
            {"versions": [version(phase="Replacing")]},
            ['ClusterServiceVersion lamps/lamp.v1.0.0 is in phase "Replacing": wait until it is Succeeded'],
            id="an upgrade has begun",
        ),
    ],
)
def test_a_plan_is_compared_with_olm_v0_when_its_controllers_are_stopped(given: Any, changes: list[str]) -> None:
    assert list(changes_since(only(), olm(**given))) == changes


def migrated(namespace: str = "lamps", package: str = "lamp") -> Object:
    """The Operator that a migration has created."""
    spec = {"version": "1.0.0", "install": {"namespace": namespace}}
    return {"metadata": {"name": "lamp", "labels": {MARK: package}}, "spec": spec}


DELETED = {**version(), "metadata": {**version()["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}


@pytest.mark.parametrize(
    ("operator", "has_begun"),
    [
        pytest.param(migrated(), True, id="its Operator"),
        pytest.param(migrated("others"), False, id="the Operator of another namespace"),
        pytest.param(migrated(package="bulb"), False, id="the Operator of another package"),
        pytest.param({"metadata": {"name": "lamp"}, "spec": migrated()["spec"]}, False, id="no mark"),
    ],
)
def test_a_version_that_is_deleted_when_the_operator_has_taken_over(operator: Object, has_begun: bool) -> None:
    """Its migration continues, and cannot be undone."""
    gone = only(versions=[], operators=[operator])
    assert gone.has_begun is has_begun
    assert is_being_removed(gone.version) is has_begun
    assert (gone.problems == ()) is has_begun
    deleted = only(versions=[DELETED], operators=[operator])
    assert deleted.problems == (() if has_begun else ("it is being deleted",))
