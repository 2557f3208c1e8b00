"""What is done for an Operator, World by World."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from olmkit.api.operators import FINALIZER
from olmkit.errors import Blocked, OlmError, Waiting
from operator_controller.operator.bundle_deployment import bundle_deployment_for, differs
from operator_controller.operator.decide import WATCH_RETRY_DELAY, decide
from operator_controller.operator.evaluate import CATALOG_RETRY_DELAY, RESYNC_DELAY, make_snapshot
from operator_controller.operator.world import (
    AddFinalizer,
    ApplyBundleDeployment,
    DeleteBundleDeployment,
    NoAction,
    PackageClaim,
    Plan,
    RemoveFinalizer,
    World,
)
from operator_controller.resolve.resolution import Chosen
from operator_controller.resolve.resolver import resolve
from operator_controller.resolve.snapshot import CatalogOffer, CatalogState, PackageRequest
from tests.unit.operator_controller.operator.builders import (
    bundle,
    deployment,
    image,
    notes,
    offer,
    operator,
    owner,
    world,
)

READY = [("Ready", "True", "Succeeded", "")]
MINE = PackageClaim(is_new=True, is_idle=True, created="2026-01-02T00:00:00Z", name="alpha")
ELDER = PackageClaim(is_new=True, is_idle=True, created="2026-01-01T00:00:00Z", name="beta")


def plan_of(seen: World) -> Plan:
    """The Plan of a World in which nothing prevents one."""
    plan = decide(seen).plan
    assert not isinstance(plan, OlmError), plan
    return plan


def _with_webhooks(version: str, *versions: str) -> CatalogOffer:
    """A catalog of these versions, of which one has a webhook."""
    plain = offer(*versions)
    assert plain.package is not None
    bundles = {
        name: replace(one, webhooks=("a",)) if name == f"p.v{version}" else one
        for name, one in plain.package.bundles.items()
    }
    return replace(plain, package=replace(plain.package, bundles=bundles))


PLANS: list[tuple[str, World, Plan | str]] = [
    (
        "without the finalizer it is put on first, beside those of others",
        world(operator(finalizers=["x/y"])),
        AddFinalizer(("x/y", FINALIZER)),
    ),
    ("with the finalizer the BundleDeployment is made", world(), "ApplyBundleDeployment"),
    ("what is as wanted is kept", world(bundle_deployment=deployment("1.1.0", READY)), NoAction()),
    (
        "what asks for an older one is changed",
        world(bundle_deployment=deployment("1.0.0", READY)),
        "ApplyBundleDeployment",
    ),
    (
        "an annotation that differs is put right",
        world(bundle_deployment=deployment("1.1.0", annotations=notes("1.1.0", channel="beta"))),
        "ApplyBundleDeployment",
    ),
    (
        "annotations of others are left alone",
        world(bundle_deployment=deployment("1.1.0", annotations={**notes("1.1.0"), "x/y": "z"})),
        NoAction(),
    ),
    (
        "a catalog that lags is looked at again",
        world(bundle_deployment=deployment("1.1.0", READY), needs_recheck=True),
        NoAction(CATALOG_RETRY_DELAY),
    ),
    (
        "with the catalog gone what is installed is left as it is",
        world(offers=(), bundle_deployment=deployment("1.0.0", READY, active="alpha-1.0.0"), runs="1.0.0"),
        NoAction(),
    ),
    (
        "the image that runs is kept when the catalog names it on another registry",
        world(
            runs="1.1.0",
            bundle_deployment=deployment("1.1.0", READY, active="alpha-1.1.0"),
            offers=(offer("1.1.0", bundle={"image": "mirror/p@1.1.0"}),),
        ),
        NoAction(),
    ),
    (
        "an image that does not run yet is taken from where the catalog names it now",
        world(
            bundle_deployment=deployment("1.1.0", READY), offers=(offer("1.1.0", bundle={"image": "mirror/p@1.1.0"}),)
        ),
        "ApplyBundleDeployment",
    ),
    (
        "another image of the version that runs is installed",
        world(
            runs="1.1.0",
            bundle_deployment=deployment("1.1.0", READY, active="alpha-1.1.0"),
            offers=(offer("1.1.0", bundle={"image": "registry/p@other"}),),
        ),
        "ApplyBundleDeployment",
    ),
    (
        "a catalog that takes the place of a deleted one is written down",
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
        DeleteBundleDeployment("alpha", "uid-deployment"),
    ),
    (
        "one that is going is waited for",
        world(operator(deleting=True), bundle_deployment=deployment("1.0.0", deleting=True)),
        NoAction(),
    ),
    (
        "when it is gone the finalizer is taken off",
        world(operator(deleting=True, finalizers=["x/y", FINALIZER])),
        RemoveFinalizer(("x/y",)),
    ),
    (
        "while BundleDeployments are not watched the finalizer stays: there may be one that is not known",
        replace(world(operator(deleting=True)), is_watch_open=False),
        NoAction(WATCH_RETRY_DELAY),
    ),
    (
        "a BundleDeployment of somebody else does not hold the Operator",
        world(operator(deleting=True), bundle_deployment=deployment("1.0.0", owners=[])),
        RemoveFinalizer(()),
    ),
    (
        "without our finalizer nothing is done for a deleted Operator",
        world(operator(deleting=True, finalizers=[])),
        NoAction(),
    ),
    (
        "a deleted Operator goes although its spec is wrong and all catalogs are gone",
        world(operator({"version": "99999999999999999999.0.0"}, deleting=True), offers=()),
        RemoveFinalizer(()),
    ),
    (
        "a plain bundle with webhooks brings its own certificates",
        world(offers=(offer("1.0.0", bundle={"webhooks": ["a"], "mediaType": "plain+v0"}),)),
        "ApplyBundleDeployment",
    ),
    (
        "an image that was refused does not stop another one",
        world(offers=(offer("1.0.0", bundle={"image": "r@sha256:1"}),), rejected_images={"sha256:2": "webhooks"}),
        "ApplyBundleDeployment",
    ),
    (
        "the senior of two works",
        world(claims=(MINE, PackageClaim(is_new=True, is_idle=True, created="2026-01-03T00:00:00Z", name="aaa"))),
        "ApplyBundleDeployment",
    ),
    (
        "one that has installed it is senior to an older one",
        world(claims=(PackageClaim(is_new=False, is_idle=False, created="2026-01-02T00:00:00Z", name="alpha"), ELDER)),
        "ApplyBundleDeployment",
    ),
]


@pytest.mark.parametrize(("seen", "wanted"), [pytest.param(w, p, id=name) for name, w, p in PLANS])
def test_the_plan(seen: World, wanted: Plan | str) -> None:
    plan = plan_of(seen)
    if isinstance(wanted, str):
        assert type(plan).__name__ == wanted
    else:
        assert plan == wanted


REFUSALS: list[tuple[str, World, type[Exception], str]] = [
    (
        "a second Operator for the package",
        world(claims=(MINE, replace(ELDER, is_new=False, is_idle=False))),
        Blocked,
        'package "p" is already managed by Operator "beta"; delete one of them',
    ),
    (
        "a second Operator while the first one has installed nothing",
        world(claims=(MINE, ELDER)),
        Blocked,
        'package "p" is also requested by Operator "beta", which was created first and is not installed; delete one of them',
    ),
    (
        "of two of one age the name decides",
        world(claims=(MINE, PackageClaim(is_new=True, is_idle=True, created=MINE.created, name="aaa"))),
        Blocked,
        'package "p" is also requested by Operator "aaa", which is first by name and is not installed; delete one of them',
    ),
    (
        "one that has begun is senior to an older one that has not",
        world(claims=(MINE, PackageClaim(is_new=True, is_idle=False, created="2026-01-09T00:00:00Z", name="zeta"))),
        Blocked,
        'package "p" is already managed by Operator "zeta"; delete one of them',
    ),
    (
        "a second one while the first is being deleted waits",
        world(claims=(MINE, PackageClaim(is_new=False, is_idle=False, created="", name="beta", is_deleting=True))),
        Waiting,
        'package "p" is already managed by Operator "beta", which is being deleted',
    ),
    (
        "a second one while the first, which has installed nothing, is being deleted waits",
        world(claims=(MINE, replace(ELDER, is_deleting=True))),
        Waiting,
        'package "p" is also requested by Operator "beta", which is being deleted',
    ),
    (
        "another package in place of an installed one",
        world(
            operator({"packageName": "q"}), runs="1.0.0", bundle_deployment=deployment("1.0.0", active="alpha-1.0.0")
        ),
        Blocked,
        'package "p" is installed by this Operator and "q" is requested: set spec.packageName back to "p", or delete this '
        'Operator and create another one for "q"',
    ),
    (
        "a range that cannot be read",
        world(operator({"version": "1.2.3-01"})),
        Blocked,
        'spec.version: Numeric PreRelease version must not contain leading zeroes "01" in "1.2.3-01"; for example "1.2.3", '
        '">=1.2.0 <2.0.0", "~1.4" or "1.x"',
    ),
    (
        "a version that is not there",
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
        "a media type nobody can unpack",
        world(offers=(offer("1.0.0", bundle={"mediaType": "helm"}),)),
        Blocked,
        "unknown bundle mediatype: helm",
    ),
    (
        "a bundle whose catalog says that it has webhooks and owns API services",
        world(offers=(offer("1.0.0", bundle={"webhooks": ["b", "a"], "apiServices": ["v1.g"]}),)),
        Blocked,
        'bundle "p.v1.0.0" has webhooks (a, b) and owns API services (v1.g), which are not supported yet: catalog "community" '
        "offers no version without them that can be installed now; install its manifests as a plain+v0 bundle that brings its "
        "own certificates",
    ),
    (
        "a bundle whose catalog says that it has webhooks, and that other versions have none",
        world(offers=(_with_webhooks("1.1.0", "0.9.0", "1.0.0", "1.1.0"),)),
        Blocked,
        'bundle "p.v1.1.0" has webhooks (a), which are not supported yet: choose a version for which the catalog names none '
        "(0.9.0, 1.0.0), or install its manifests as a plain+v0 bundle that brings its own certificates",
    ),
    (
        "a bundle that has webhooks, and a version without them that no upgrade edge leads to",
        world(runs="1.0.0", offers=(_with_webhooks("1.1.0", "0.9.0", "1.0.0", "1.1.0"),)),
        Blocked,
        'bundle "p.v1.1.0" has webhooks (a), which are not supported yet: choose a version for which the catalog names none '
        "(1.0.0), or install its manifests as a plain+v0 bundle that brings its own certificates",
    ),
    (
        "an image that rukpak refused before",
        world(offers=(offer("1.0.0", bundle={"image": "r@sha256:1"}),), rejected_images={"sha256:1": "webhooks"}),
        Blocked,
        "webhooks",
    ),
    (
        "a BundleDeployment that a person made",
        world(bundle_deployment=deployment("1.0.0", owners=[])),
        Blocked,
        'BundleDeployment "alpha" already exists and is owned by no Operator: '
        "delete it, or create the Operator under another name",
    ),
    (
        "a BundleDeployment of something else",
        world(bundle_deployment=deployment("1.0.0", owners=[owner(kind="Widget", name="w", uid="u")])),
        Blocked,
        'BundleDeployment "alpha" already exists and is owned by Widget "w": '
        "delete it, or create the Operator under another name",
    ),
    (
        "a BundleDeployment of an earlier Operator of this name",
        world(bundle_deployment=deployment("1.0.0", owners=[owner(uid="uid-before")])),
        Waiting,
        'BundleDeployment "alpha" already exists and belongs to an earlier Operator of this name: waiting for its deletion',
    ),
    (
        "a BundleDeployment that somebody deletes",
        world(bundle_deployment=deployment("1.0.0", deleting=True)),
        Waiting,
        'BundleDeployment "alpha" is being deleted: 1.1.0 will be installed again when the deletion is complete',
    ),
    (
        "an active Bundle that is not seen yet",
        world(missing_bundle="alpha-abc"),
        Waiting,
        'the installed Bundle "alpha-abc" is not visible yet',
    ),
]


@pytest.mark.parametrize(("seen", "error", "message"), [pytest.param(w, e, m, id=name) for name, w, e, m in REFUSALS])
def test_what_is_in_the_way(seen: World, error: type[Exception], message: str) -> None:
    problem = decide(seen).plan
    assert isinstance(problem, error)
    assert str(problem) == message
    assert isinstance(problem, Blocked) is (error is Blocked)


@pytest.mark.parametrize(
    ("changes", "again"),
    [
        pytest.param({"offers": ()}, RESYNC_DELAY, id="a Catalog that is made will be told"),
        pytest.param(
            {"offers": (CatalogOffer("x", state=CatalogState.UNREACHABLE),), "needs_recheck": True},
            CATALOG_RETRY_DELAY,
            id="a catalog that answers again will not",
        ),
        pytest.param(
            {"offers": (offer("1.0.0", bundle={"mediaType": "helm"}),), "needs_recheck": True},
            CATALOG_RETRY_DELAY,
            id="nor will content that is newer than what was read",
        ),
        pytest.param(
            {"offers": (offer("1.0.0"), offer("1.0.0", catalog="x", state=CatalogState.CACHED)), "needs_recheck": True},
            CATALOG_RETRY_DELAY,
            id="nor will a tie that is none any more",
        ),
    ],
)
def test_when_it_is_looked_at_again(changes: dict[str, Any], again: timedelta) -> None:
    problem = decide(world(**changes)).plan
    assert isinstance(problem, Waiting)
    assert problem.after == again


def test_a_new_deployment_is_create_only_and_says_everything_about_its_bundle() -> None:
    plan = plan_of(world())
    assert isinstance(plan, ApplyBundleDeployment)
    assert plan.deployment == {
        "apiVersion": "core.rukpak.io/v1alpha1",
        "kind": "BundleDeployment",
        "metadata": {"name": "alpha", "resourceVersion": "1", "ownerReferences": [owner()]},
        "spec": {
            "provisionerClassName": "core-rukpak-io-plain",
            "template": {
                "metadata": {"annotations": notes("1.1.0")},
                "spec": {
                    "provisionerClassName": "core-rukpak-io-registry",
                    "source": {"type": "image", "image": {"ref": image("1.1.0")}},
                },
            },
        },
    }


def test_a_change_is_made_only_to_the_deployment_that_was_seen() -> None:
    plan = plan_of(world(bundle_deployment=deployment("1.0.0")))
    assert isinstance(plan, ApplyBundleDeployment)
    assert plan.deployment["metadata"]["uid"] == "uid-deployment"
    assert "resourceVersion" not in plan.deployment["metadata"]


@pytest.mark.parametrize(
    ("media_type", "provisioner"),
    [("registry+v1", "core-rukpak-io-registry"), ("", "core-rukpak-io-registry"), ("plain+v0", "core-rukpak-io-plain")],
)
def test_the_media_type_says_who_unpacks(media_type: str, provisioner: str) -> None:
    plan = plan_of(world(offers=(offer("1.0.0", bundle={"mediaType": media_type}),)))
    assert isinstance(plan, ApplyBundleDeployment)
    assert plan.deployment["spec"]["template"]["spec"]["provisionerClassName"] == provisioner


def test_what_was_applied_is_kept_in_the_next_pass() -> None:
    plan = plan_of(world())
    assert isinstance(plan, ApplyBundleDeployment)
    applied: dict[str, Any] = {**plan.deployment, "status": {}}
    applied["metadata"] = {**applied["metadata"], "uid": "uid-deployment", "generation": 1}
    seen = deployment("1.1.0")
    assert plan_of(world(bundle_deployment=type(seen).load(applied))) == NoAction()


def test_too_many_properties_are_cut_to_whole_ones() -> None:
    many = [{"type": "olm.gvk", "value": {"group": "g", "version": "v1", "kind": "K" * 1000}}] * 500
    seen = world(offers=(offer("1.0.0", bundle={"properties": many}),))
    outcome = resolve(make_snapshot(seen, PackageRequest("p"))).outcome
    assert isinstance(outcome, Chosen)
    made = bundle_deployment_for(seen.operator, outcome.candidate)
    assert made is not None
    text = made["spec"]["template"]["metadata"]["annotations"]["operators.operatorframework.io/properties"]
    assert len(text) <= 131_072
    assert text.endswith("}]")
    assert not differs(type(deployment("1.0.0")).load({**made, "status": {}}), made)


def test_following_another_catalog_changes_what_is_recorded_and_nothing_that_is_installed() -> None:
    before = deployment("1.1.0", READY, active="alpha-1.1.0")
    plan = plan_of(world(runs="1.1.0", bundle_deployment=before, offers=(offer("1.0.0", "1.1.0", catalog="vendor"),)))
    assert isinstance(plan, ApplyBundleDeployment)
    template = plan.deployment["spec"]["template"]
    assert template["spec"] == before.raw["spec"]["template"]["spec"]
    assert template["metadata"]["annotations"] == notes("1.1.0", catalog="vendor")


@pytest.mark.parametrize(
    ("spec", "offered"),
    [
        pytest.param({}, {}, id="before an upgrade"),
        pytest.param({}, {"mediaType": "helm"}, id="when the upgrade is refused"),
        pytest.param({"version": "2.0.0"}, {}, id="when what is asked for is not found"),
        pytest.param({"version": "<1.1.0", "channel": "stable"}, {"image": "x@1.0.0"}, id="when nothing else changes"),
    ],
)
def test_the_catalog_that_is_followed_is_recorded_before_anything_else(
    spec: dict[str, str], offered: dict[str, str]
) -> None:
    before = deployment("1.0.0", READY, active="alpha-1.0.0")
    seen = world(
        operator(spec),
        runs="1.0.0",
        bundle_deployment=before,
        offers=(offer("1.0.0", "1.1.0", catalog="vendor", bundle=offered),),
    )
    plan = plan_of(seen)
    assert isinstance(plan, ApplyBundleDeployment)
    template = plan.deployment["spec"]["template"]
    assert template["spec"] == before.raw["spec"]["template"]["spec"]
    assert template["metadata"]["annotations"] == notes("1.0.0", catalog="vendor")


def test_an_upgrade_waits_until_the_bundle_that_runs_has_the_record_of_its_new_catalog() -> None:
    recorded = deployment("1.0.0", READY, active="alpha-1.0.0", annotations=notes("1.0.0", catalog="vendor"))
    offers = (offer("1.0.0", "1.1.0", catalog="vendor"),)
    assert plan_of(world(runs="1.0.0", bundle_deployment=recorded, offers=offers)) == NoAction()
    passed_on = plan_of(world(runs=bundle("1.0.0", catalog="vendor"), bundle_deployment=recorded, offers=offers))
    assert isinstance(passed_on, ApplyBundleDeployment)
    assert passed_on.deployment["spec"]["template"]["metadata"]["annotations"] == notes("1.1.0", catalog="vendor")


def test_the_channel_that_is_recorded_is_one_of_the_catalog_that_is_followed() -> None:
    old = notes("1.0.0", channel="removed")
    before = deployment("1.0.0", READY, active="alpha-1.0.0", annotations=old)
    seen = world(
        runs=bundle("1.0.0", channel="removed"),
        bundle_deployment=before,
        offers=(offer("1.0.0", "1.1.0", catalog="vendor"),),
    )
    plan = plan_of(seen)
    assert isinstance(plan, ApplyBundleDeployment)
    assert plan.deployment["spec"]["template"]["metadata"]["annotations"] == notes("1.0.0", catalog="vendor")


def test_nothing_is_decided_without_the_answer_that_the_world_should_hold() -> None:
    with pytest.raises(ValueError, match="lacks the resolution"):
        decide(replace(world(), resolution=None))
