"""The Plan for an Operator, World by World."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from olmkit.api.operators import FINALIZER
from olmkit.errors import Blocked, OlmError, Waiting
from operator_controller.operator.decide import decide
from operator_controller.operator.delays import RESYNC_DELAY
from operator_controller.operator.world import (
    AddFinalizer,
    ApplyBundleDeployment,
    DeleteBundleDeployment,
    Keep,
    PackageClaim,
    Plan,
    RemoveFinalizer,
    World,
)
from operator_controller.resolve.snapshot.package_snapshot import CatalogState
from tests.unit.operator_controller.operator.worlds import (
    CatalogOffer,
    bundle,
    bundle_annotations,
    deployment,
    image,
    offer,
    operator,
    owner,
    world,
)

READY = [("Ready", "True", "Succeeded", "")]
POLICY = {"authorities": [{"key": {"configMap": {"name": "keys"}}}]}
MINE = PackageClaim(is_new=True, is_idle=True, created="2026-01-02T00:00:00Z", name="alpha")
NAMED = {"install": {"namespace": "a", "serviceAccount": {"name": "b"}}}
ELDER = PackageClaim(is_new=True, is_idle=True, created="2026-01-01T00:00:00Z", name="beta")


def plan_of(observed: World) -> Plan:
    """The Plan of a World in which nothing prevents one."""
    plan = decide(observed).plan
    assert not isinstance(plan, OlmError), plan
    return plan


PLANS: list[tuple[str, World, Plan | str]] = [
    (
        "the finalizer is added first, to those of others",
        world(operator(finalizers=["x/y"])),
        AddFinalizer(("x/y", FINALIZER)),
    ),
    ("with the finalizer, the BundleDeployment is created", world(), "ApplyBundleDeployment"),
    (
        "the finalizer is added again if somebody has removed it from an Operator that is installed",
        world(operator(finalizers=["x/y"]), bundle_deployment=deployment("1.1.0", READY)),
        AddFinalizer(("x/y", FINALIZER)),
    ),
    (
        "also while its catalog is deleted",
        world(
            operator(finalizers=[]),
            offers=(),
            bundle_deployment=deployment("1.0.0", READY, active="alpha-1.0.0"),
            runs="1.0.0",
        ),
        AddFinalizer((FINALIZER,)),
    ),
    ("a BundleDeployment as desired is kept", world(bundle_deployment=deployment("1.1.0", READY)), Keep()),
    (
        "a BundleDeployment that requests an older version is changed",
        world(bundle_deployment=deployment("1.0.0", READY)),
        "ApplyBundleDeployment",
    ),
    (
        "an annotation that differs is corrected",
        world(bundle_deployment=deployment("1.1.0", annotations=bundle_annotations("1.1.0", channel="beta"))),
        "ApplyBundleDeployment",
    ),
    (
        "another Secret of the Catalog is handed on",
        world(bundle_deployment=deployment("1.1.0", pull_secret="old"), pull_secret="login"),
        "ApplyBundleDeployment",
    ),
    (
        "a Secret that the Catalog does not name is removed",
        world(bundle_deployment=deployment("1.1.0", pull_secret="old"), pull_secret=""),
        "ApplyBundleDeployment",
    ),
    (
        "a BundleDeployment with the Secret of the Catalog is kept",
        world(bundle_deployment=deployment("1.1.0", READY, pull_secret="login"), pull_secret="login"),
        Keep(),
    ),
    (
        "the Secret of a Catalog that does not exist any more is kept",
        world(bundle_deployment=deployment("1.1.0", READY, pull_secret="login"), pull_secret=None),
        Keep(),
    ),
    (
        "a paused Operator gets no other Secret",
        world(operator({"paused": True}), bundle_deployment=deployment("1.1.0", READY), pull_secret="login"),
        Keep(),
    ),
    (
        "a bundle that was approved gets another Secret without an approval",
        world(
            operator({"approval": "Manual"}),
            runs="1.1.0",
            bundle_deployment=deployment("1.1.0", READY),
            pull_secret="login",
        ),
        "ApplyBundleDeployment",
    ),
    (
        "another policy for signatures of the Catalog is handed on",
        world(
            bundle_deployment=deployment("1.1.0", verify=POLICY), verification={"authorities": [{"key": {"data": "k"}}]}
        ),
        "ApplyBundleDeployment",
    ),
    (
        "a policy for signatures that the Catalog does not have is removed",
        world(bundle_deployment=deployment("1.1.0", verify=POLICY), verification={}),
        "ApplyBundleDeployment",
    ),
    (
        "a BundleDeployment with the policy of the Catalog is kept",
        world(bundle_deployment=deployment("1.1.0", READY, verify=POLICY), verification=POLICY),
        Keep(),
    ),
    (
        "the policy of a Catalog that does not exist any more is kept",
        world(bundle_deployment=deployment("1.1.0", READY, verify=POLICY), verification=None),
        Keep(),
    ),
    (
        "a paused Operator gets no other policy",
        world(operator({"paused": True}), bundle_deployment=deployment("1.1.0", READY), verification=POLICY),
        Keep(),
    ),
    (
        "annotations of others are ignored",
        world(bundle_deployment=deployment("1.1.0", annotations={**bundle_annotations("1.1.0"), "x/y": "z"})),
        Keep(),
    ),
    (
        "a catalog that may change without an event is checked again",
        world(bundle_deployment=deployment("1.1.0", READY), needs_recheck=True),
        Keep(),
    ),
    (
        "without its catalog the installed bundle stays",
        world(offers=(), bundle_deployment=deployment("1.0.0", READY, active="alpha-1.0.0"), runs="1.0.0"),
        Keep(),
    ),
    (
        "the running image is kept when the catalog names it on another registry",
        world(
            runs="1.1.0",
            bundle_deployment=deployment("1.1.0", READY, active="alpha-1.1.0"),
            offers=(offer("1.1.0", bundle={"image": "mirror/p@1.1.0"}),),
        ),
        Keep(),
    ),
    (
        "an image that does not run yet is pulled from the registry that the catalog names",
        world(
            bundle_deployment=deployment("1.1.0", READY), offers=(offer("1.1.0", bundle={"image": "mirror/p@1.1.0"}),)
        ),
        "ApplyBundleDeployment",
    ),
    (
        "another image of the running version is installed",
        world(
            runs="1.1.0",
            bundle_deployment=deployment("1.1.0", READY, active="alpha-1.1.0"),
            offers=(offer("1.1.0", bundle={"image": "registry/p@other"}),),
        ),
        "ApplyBundleDeployment",
    ),
    (
        "the successor of a deleted catalog is recorded",
        world(
            runs="1.1.0",
            bundle_deployment=deployment("1.1.0", READY, active="alpha-1.1.0"),
            offers=(offer("1.0.0", "1.1.0", catalog="vendor"),),
        ),
        "ApplyBundleDeployment",
    ),
    (
        "a deleted Operator's BundleDeployment is deleted",
        world(operator(deleting=True), bundle_deployment=deployment("1.0.0")),
        DeleteBundleDeployment("alpha", "uid-deployment", "7"),
    ),
    (
        "before the deletion the BundleDeployment has the deletion policy of its Operator, also one that was just set",
        world(
            operator({"install": {"deletionPolicy": "Orphan"}}, deleting=True), bundle_deployment=deployment("1.0.0")
        ),
        "ApplyBundleDeployment",
    ),
    (
        "a deletion policy that is set during the deletion is handed on",
        world(
            operator({"install": {"deletionPolicy": "Orphan"}}, deleting=True),
            bundle_deployment=deployment("1.0.0", deleting=True),
        ),
        "ApplyBundleDeployment",
    ),
    (
        "a BundleDeployment with the deletion policy of its Operator is deleted",
        world(
            operator({"install": {"deletionPolicy": "Orphan"}}, deleting=True),
            bundle_deployment=deployment("1.0.0", spec={"deletionPolicy": "Orphan"}),
        ),
        DeleteBundleDeployment("alpha", "uid-deployment", "7"),
    ),
    (
        "an account that is named during the deletion is handed on",
        world(operator(NAMED, deleting=True), bundle_deployment=deployment("1.0.0", deleting=True)),
        "ApplyBundleDeployment",
    ),
    (
        "a BundleDeployment with the account of its Operator is deleted",
        world(
            operator(NAMED, deleting=True),
            bundle_deployment=deployment("1.0.0", spec={"installNamespace": "a", "serviceAccount": {"name": "b"}}),
        ),
        DeleteBundleDeployment("alpha", "uid-deployment", "7"),
    ),
    (
        "one that has an account keeps it while its Operator names none",
        world(
            operator(deleting=True),
            bundle_deployment=deployment("1.0.0", deleting=True, spec={"serviceAccount": {"name": "b"}}),
        ),
        Keep(),
    ),
    (
        "a BundleDeployment that is being deleted is waited for",
        world(operator(deleting=True), bundle_deployment=deployment("1.0.0", deleting=True)),
        Keep(),
    ),
    (
        "after its deletion the finalizer is removed",
        world(operator(deleting=True, finalizers=["x/y", FINALIZER])),
        RemoveFinalizer(("x/y",)),
    ),
    (
        "a BundleDeployment of another owner does not delay the deletion",
        world(operator(deleting=True), bundle_deployment=deployment("1.0.0", owners=[])),
        RemoveFinalizer(()),
    ),
    (
        "without the finalizer nothing is done for a deleted Operator",
        world(operator(deleting=True, finalizers=[])),
        Keep(),
    ),
    (
        "an invalid spec and missing catalogs do not delay the deletion",
        world(operator({"version": "99999999999999999999.0.0"}, deleting=True), offers=()),
        RemoveFinalizer(()),
    ),
    (
        "a rejected image does not prevent another one",
        world(offers=(offer("1.0.0", bundle={"image": "r@sha256:1"}),), rejected_images={"sha256:2": "webhooks"}),
        "ApplyBundleDeployment",
    ),
    (
        "the senior of two Operators is reconciled",
        world(claims=(MINE, PackageClaim(is_new=True, is_idle=True, created="2026-01-03T00:00:00Z", name="aaa"))),
        "ApplyBundleDeployment",
    ),
    (
        "an Operator with the package installed is senior to an older one",
        world(claims=(PackageClaim(is_new=False, is_idle=False, created="2026-01-02T00:00:00Z", name="alpha"), ELDER)),
        "ApplyBundleDeployment",
    ),
]


@pytest.mark.parametrize(("observed", "expected"), [pytest.param(w, p, id=name) for name, w, p in PLANS])
def test_the_plan(observed: World, expected: Plan | str) -> None:
    plan = plan_of(observed)
    if isinstance(expected, str):
        assert type(plan).__name__ == expected
    else:
        assert plan == expected


BLOCKERS: list[tuple[str, World, type[Exception], str]] = [
    (
        "a second Operator for the package",
        world(claims=(MINE, replace(ELDER, is_new=False, is_idle=False))),
        Blocked,
        'package "p" is already managed by Operator "beta"; delete the one that has installed nothing',
    ),
    (
        "a second Operator while the first one has installed nothing",
        world(claims=(MINE, ELDER)),
        Blocked,
        'package "p" is also requested by Operator "beta", which was created first and is not installed; delete one of them',
    ),
    (
        "of two of the same age the first by name is senior",
        world(claims=(MINE, PackageClaim(is_new=True, is_idle=True, created=MINE.created, name="aaa"))),
        Blocked,
        'package "p" is also requested by Operator "aaa", which is first by name and is not installed; delete one of them',
    ),
    (
        "an Operator with a BundleDeployment is senior to an older one without",
        world(claims=(MINE, PackageClaim(is_new=True, is_idle=False, created="2026-01-09T00:00:00Z", name="zeta"))),
        Blocked,
        'package "p" is already managed by Operator "zeta"; delete the one that has installed nothing',
    ),
    (
        "a second Operator for a package that is installed as a dependency",
        world(claims=(MINE, replace(ELDER, is_new=False, is_idle=False, is_dependency=True))),
        Blocked,
        'package "p" is already managed by Operator "beta", which was installed as a dependency: to request it, apply an '
        'Operator of the name "beta", and delete this one',
    ),
    (
        "a second Operator for a package that is to be installed as a dependency",
        world(claims=(MINE, replace(ELDER, is_dependency=True))),
        Blocked,
        'package "p" is also requested by Operator "beta", which was created as a dependency: to request it, apply an '
        'Operator of the name "beta", and delete this one',
    ),
    (
        "a second Operator while a ClusterExtension has the package",
        world(claims=(MINE, replace(ELDER, is_new=False, is_idle=False, extension="argo.team"))),
        Blocked,
        'package "p" is already managed by ClusterExtension "argo.team"; delete the one that has installed nothing',
    ),
    (
        "a ClusterExtension for a package that is installed as a dependency",
        world(
            operator(extension="alpha"),
            claims=(MINE, replace(ELDER, is_new=False, is_idle=False, is_dependency=True)),
        ),
        Blocked,
        'package "p" is already managed by Operator "beta", which was installed as a dependency: to request it, apply a '
        'ClusterExtension of the name "beta", and delete this one',
    ),
    (
        "a ClusterExtension whose range of versions cannot be read",
        world(operator({"version": "1.a"}, extension="alpha")),
        Blocked,
        'spec.source.catalog.version: "1.a" is neither a version nor a range of versions (at ".a"); for example "1.2.3", '
        '">=1.2.0 <2.0.0", "~1.4" or "1.x"',
    ),
    (
        "a second Operator while the first is being deleted",
        world(claims=(MINE, PackageClaim(is_new=False, is_idle=False, created="", name="beta", is_deleting=True))),
        Waiting,
        'package "p" is already managed by Operator "beta", which is being deleted',
    ),
    (
        "a second Operator while the first, which has installed nothing, is being deleted",
        world(claims=(MINE, replace(ELDER, is_deleting=True))),
        Waiting,
        'package "p" is also requested by Operator "beta", which is being deleted',
    ),
    (
        "another package than the installed one",
        world(
            operator({"packageName": "q"}), runs="1.0.0", bundle_deployment=deployment("1.0.0", active="alpha-1.0.0")
        ),
        Blocked,
        'package "p" is installed by this Operator and "q" is requested: set spec.packageName back to "p", or delete this '
        'Operator and create another one for "q"',
    ),
    (
        "an invalid range",
        world(operator({"version": "1.2.3-01"})),
        Blocked,
        'spec.version: Numeric PreRelease version must not contain leading zeroes "01" in "1.2.3-01"; for example "1.2.3", '
        '">=1.2.0 <2.0.0", "~1.4" or "1.x"',
    ),
    (
        "a version that does not exist",
        world(operator({"version": "9.9.9"})),
        Blocked,
        "package 'p' at version '9.9.9' not found",
    ),
    (
        "the same while a catalog is being read",
        world(operator({"version": "9.9.9"}), offers=(offer("1.0.0"), CatalogOffer("x", state=CatalogState.PENDING))),
        Waiting,
        "package 'p' at version '9.9.9' not found",
    ),
    (
        "an unknown media type",
        world(offers=(offer("1.0.0", bundle={"mediaType": "helm"}),)),
        Blocked,
        "unknown bundle mediatype: helm",
    ),
    (
        "an image that rukpak rejected before",
        world(offers=(offer("1.0.0", bundle={"image": "r@sha256:1"}),), rejected_images={"sha256:1": "webhooks"}),
        Blocked,
        "webhooks",
    ),
    (
        "a BundleDeployment without an owner",
        world(bundle_deployment=deployment("1.0.0", owners=[])),
        Blocked,
        'BundleDeployment "alpha" already exists and is owned by no Operator: to have this Operator take it over, '
        "run kubectl annotate "
        "bundledeployments.core.rukpak.io alpha operators.operatorframework.io/adopt=true; or create the Operator under another "
        "name",
    ),
    (
        "a BundleDeployment of another kind of owner",
        world(bundle_deployment=deployment("1.0.0", owners=[owner(kind="Widget", name="w", uid="u")])),
        Blocked,
        'BundleDeployment "alpha" already exists and is owned by Widget "w": '
        "create the Operator under another name, or delete it there",
    ),
    (
        "a BundleDeployment of an earlier Operator of this name",
        world(bundle_deployment=deployment("1.0.0", owners=[owner(uid="uid-before")])),
        Waiting,
        'BundleDeployment "alpha" already exists and belongs to an earlier Operator of this name: waiting for its deletion',
    ),
    (
        "a BundleDeployment that is being deleted",
        world(bundle_deployment=deployment("1.0.0", deleting=True)),
        Waiting,
        'BundleDeployment "alpha" is being deleted: 1.1.0 will be installed again when the deletion is complete',
    ),
    (
        "an active Bundle that is not visible yet",
        world(missing_bundle="alpha-abc"),
        Waiting,
        'the installed Bundle "alpha-abc" is not visible yet',
    ),
]


@pytest.mark.parametrize(
    ("observed", "error", "message"), [pytest.param(w, e, m, id=name) for name, w, e, m in BLOCKERS]
)
def test_the_blocker(observed: World, error: type[Exception], message: str) -> None:
    blocker = decide(observed).plan
    assert isinstance(blocker, error)
    assert str(blocker) == message
    assert isinstance(blocker, Blocked) is (error is Blocked)


@pytest.mark.parametrize(
    ("changes", "after"),
    [
        pytest.param({"offers": ()}, RESYNC_DELAY, id="a new Catalog causes an event"),
        pytest.param(
            {"offers": (CatalogOffer("x", state=CatalogState.UNREACHABLE),), "needs_recheck": True},
            RESYNC_DELAY,
            id="a catalog that can be read again causes one",
        ),
        pytest.param(
            {"offers": (offer("1.0.0", bundle={"mediaType": "helm"}),), "needs_recheck": True},
            RESYNC_DELAY,
            id="content that is newer than the cached one causes one",
        ),
        pytest.param(
            {"offers": (offer("1.0.0"), offer("1.0.0", catalog="x", state=CatalogState.CACHED)), "needs_recheck": True},
            RESYNC_DELAY,
            id="the end of an ambiguity causes one",
        ),
    ],
)
def test_the_time_to_the_next_pass(changes: dict[str, Any], after: timedelta) -> None:
    blocker = decide(world(**changes)).plan
    assert isinstance(blocker, Waiting)
    assert blocker.after == after


def test_a_new_bundle_deployment_is_create_only_and_records_its_bundle() -> None:
    plan = plan_of(world())
    assert isinstance(plan, ApplyBundleDeployment)
    assert plan.deployment == {
        "apiVersion": "core.rukpak.io/v1alpha1",
        "kind": "BundleDeployment",
        "metadata": {"name": "alpha", "resourceVersion": "1", "ownerReferences": [owner()]},
        "spec": {
            "provisionerClassName": "core-rukpak-io-plain",
            "template": {
                "metadata": {"annotations": bundle_annotations("1.1.0")},
                "spec": {
                    "provisionerClassName": "core-rukpak-io-registry",
                    "source": {"type": "image", "image": {"ref": image("1.1.0")}},
                },
            },
        },
    }


def test_the_bundle_is_pulled_with_the_secret_of_its_catalog() -> None:
    plan = plan_of(world(pull_secret="login", verification=POLICY))
    assert isinstance(plan, ApplyBundleDeployment)
    source = plan.deployment["spec"]["template"]["spec"]["source"]
    assert source == {"type": "image", "image": {"ref": image("1.1.0"), "pullSecret": "login", "verify": POLICY}}


def test_only_the_observed_bundle_deployment_is_changed() -> None:
    plan = plan_of(world(bundle_deployment=deployment("1.0.0")))
    assert isinstance(plan, ApplyBundleDeployment)
    assert plan.deployment["metadata"]["uid"] == "uid-deployment"
    assert "resourceVersion" not in plan.deployment["metadata"]


@pytest.mark.parametrize(
    ("media_type", "provisioner"),
    [("registry+v1", "core-rukpak-io-registry"), ("", "core-rukpak-io-registry"), ("plain+v0", "core-rukpak-io-plain")],
)
def test_the_media_type_determines_the_provisioner(media_type: str, provisioner: str) -> None:
    plan = plan_of(world(offers=(offer("1.0.0", bundle={"mediaType": media_type}),)))
    assert isinstance(plan, ApplyBundleDeployment)
    assert plan.deployment["spec"]["template"]["spec"]["provisionerClassName"] == provisioner


def test_an_applied_bundle_deployment_is_kept_in_the_next_pass() -> None:
    plan = plan_of(world())
    assert isinstance(plan, ApplyBundleDeployment)
    applied: dict[str, Any] = {**plan.deployment, "status": {}}
    applied["metadata"] = {**applied["metadata"], "uid": "uid-deployment", "generation": 1}
    observed = deployment("1.1.0")
    assert plan_of(world(bundle_deployment=type(observed).load(applied))) == Keep()


def test_following_another_catalog_changes_the_record_alone() -> None:
    before = deployment("1.1.0", READY, active="alpha-1.1.0")
    plan = plan_of(world(runs="1.1.0", bundle_deployment=before, offers=(offer("1.0.0", "1.1.0", catalog="vendor"),)))
    assert isinstance(plan, ApplyBundleDeployment)
    template = plan.deployment["spec"]["template"]
    assert template["spec"] == before.raw["spec"]["template"]["spec"]
    assert template["metadata"]["annotations"] == bundle_annotations("1.1.0", catalog="vendor")


@pytest.mark.parametrize(
    ("spec", "offered"),
    [
        pytest.param({}, {}, id="before an upgrade"),
        pytest.param({}, {"mediaType": "helm"}, id="if the upgrade is refused"),
        pytest.param({"version": "2.0.0"}, {}, id="if the requested version is not found"),
        pytest.param({"version": "<1.1.0", "channel": "stable"}, {"image": "x@1.0.0"}, id="if nothing else changes"),
    ],
)
def test_the_successor_catalog_is_recorded_first(spec: dict[str, str], offered: dict[str, str]) -> None:
    before = deployment("1.0.0", READY, active="alpha-1.0.0")
    observed = world(
        operator(spec),
        runs="1.0.0",
        bundle_deployment=before,
        offers=(offer("1.0.0", "1.1.0", catalog="vendor", bundle=offered),),
    )
    plan = plan_of(observed)
    assert isinstance(plan, ApplyBundleDeployment)
    template = plan.deployment["spec"]["template"]
    assert template["spec"] == before.raw["spec"]["template"]["spec"]
    assert template["metadata"]["annotations"] == bundle_annotations("1.0.0", catalog="vendor")


def test_an_upgrade_waits_until_the_running_bundle_records_the_successor_catalog() -> None:
    recorded = deployment(
        "1.0.0", READY, active="alpha-1.0.0", annotations=bundle_annotations("1.0.0", catalog="vendor")
    )
    offers = (offer("1.0.0", "1.1.0", catalog="vendor"),)
    assert plan_of(world(runs="1.0.0", bundle_deployment=recorded, offers=offers)) == Keep()
    upgraded = plan_of(world(runs=bundle("1.0.0", catalog="vendor"), bundle_deployment=recorded, offers=offers))
    assert isinstance(upgraded, ApplyBundleDeployment)
    assert upgraded.deployment["spec"]["template"]["metadata"]["annotations"] == bundle_annotations(
        "1.1.0", catalog="vendor"
    )


def test_the_recorded_channel_is_one_of_the_successor_catalog() -> None:
    old = bundle_annotations("1.0.0", channel="removed")
    before = deployment("1.0.0", READY, active="alpha-1.0.0", annotations=old)
    observed = world(
        runs=bundle("1.0.0", channel="removed"),
        bundle_deployment=before,
        offers=(offer("1.0.0", "1.1.0", catalog="vendor"),),
    )
    plan = plan_of(observed)
    assert isinstance(plan, ApplyBundleDeployment)
    assert plan.deployment["spec"]["template"]["metadata"]["annotations"] == bundle_annotations(
        "1.0.0", catalog="vendor"
    )


def test_a_world_without_its_resolution_is_an_error() -> None:
    with pytest.raises(ValueError, match="lacks the resolution"):
        decide(replace(world(), resolution=None))
