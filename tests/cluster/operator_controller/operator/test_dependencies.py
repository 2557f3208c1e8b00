"""Dependencies on a cluster with rukpak: circles, upgrades, replaced Operators, and deletions in the foreground."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from olmkit.api import bundledeployments, customresourcedefinitions, operators
from olmkit.api.bundledeployment_status import COUNT_ANNOTATION
from olmkit.api.bundledeployments import DELETION_HOLD_ANNOTATION
from olmkit.api.operators import FINALIZER, INSTALLED_FOR_LABEL
from operator_controller.operator.delays import RESYNC_DELAY
from tests.cluster.operator_controller.operator.site import CHAIN, WITHIN_SECONDS, Requirements, Site
from tests.e2e.packages import group

CIRCLE: dict[str, Requirements] = {"a": {"1.0.0": ["b 1.0.0"]}, "b": {"1.0.0": ["a 1.0.0"]}}


def hold(site: Site, letter: str) -> str:
    """Why rukpak holds the deletion of the BundleDeployment."""
    return site.annotation(letter, DELETION_HOLD_ANNOTATION)


def labels(site: Site, letter: str) -> dict[str, str]:
    """The labels of the Operator."""
    found = site.operator(letter)
    return dict(found["metadata"].get("labels") or {}) if found is not None else {}


def is_deleting(site: Site, letter: str) -> bool:
    found = site.deployment(letter)
    return found is not None and "deletionTimestamp" in found["metadata"]


async def install_held(site: Site) -> None:
    """Install a with b, and wait until the deletion of b is held."""
    await site.install(CHAIN)
    await site.until("the deletion is held", lambda: hold(site, "b") == f"required by Operator {site.package('a')}")


async def remove_by_hand(site: Site, letter: str) -> None:
    """Delete an Operator and remove its finalizer, so that nothing of operator-controller ends its deletion."""
    await site.delete(letter)
    await site.client.patch(site.operators.kind, site.package(letter), {"metadata": {"finalizers": None}})
    await site.until("the Operator is gone", lambda: site.operator(letter) is None)


@pytest.mark.timeout(400)
async def test_packages_that_require_each_other_are_installed_and_deleted_together(site: Site) -> None:
    async with site.controller():
        await site.install(CIRCLE)
        await site.delete("a")
        await site.until_gone("a", "b")


@pytest.mark.timeout(400)
async def test_a_circle_of_dependencies_is_deleted_with_the_last_package_that_requires_it(site: Site) -> None:
    packages: dict[str, Requirements] = {"a": CHAIN["a"], "b": {"1.0.0": ["c 1.0.0"]}, "c": {"1.0.0": ["b 1.0.0"]}}
    async with site.controller():
        await site.install(packages)
        await site.until("the circle is installed", lambda: site.is_installed("c"))
        await site.delete("a")
        await site.until_gone("a", "b", "c")


@pytest.mark.timeout(400)
async def test_a_circle_stays_whole_while_one_of_it_is_in_use(site: Site) -> None:
    async with site.controller():
        await site.install(CIRCLE)
        await site.use("b")
        await site.delete("a")
        kept = f"kept: 1 things.{site.kind('b').group} in use; "
        await site.until("b is kept", lambda: site.ready("b")[2].startswith(kept))
        assert site.is_installed("b")
        await site.until("a says so", lambda: site.ready("a")[:2] == ("False", "DeletionBlocked"))
        assert not is_deleting(site, "a")
        await site.client.delete(site.kind("b"), "in-use", "default")
        await site.until_gone("a", "b")


@pytest.mark.timeout(400)
async def test_what_is_left_without_its_operator_keeps_its_dependencies(site: Site) -> None:
    async with site.controller():
        await site.install(CHAIN)
        arguments = ("delete", "operators.operators.operatorframework.io", site.package("a"), "--cascade=orphan")
        await asyncio.to_thread(site.cluster.kubectl, *arguments)
        await site.until("b is nobody's dependency any more", lambda: INSTALLED_FOR_LABEL not in labels(site, "b"))
        assert site.operator("b") is not None
        assert not is_deleting(site, "b")
        assert site.deployment("a") is not None
    await site.delete("a", bundledeployments.KIND)


@pytest.mark.timeout(400)
async def test_an_operator_is_gone_although_the_garbage_collector_was_faster(site: Site) -> None:
    async with site.controller():
        await site.install(CHAIN)
    name = site.package("a")
    arguments = ("delete", "operators.operators.operatorframework.io", name, "--cascade=orphan", "--wait=false")
    await asyncio.to_thread(site.cluster.kubectl, *arguments)
    # What the garbage collector does, which may take it minutes while definitions of other tests are created and deleted.
    await site.client.patch(bundledeployments.KIND, name, {"metadata": {"ownerReferences": None}})
    await site.client.patch(operators.KIND, name, {"metadata": {"finalizers": [FINALIZER]}})
    async with site.controller():
        await site.until("the Operator is gone", lambda: site.operator("a") is None)
    assert INSTALLED_FOR_LABEL not in labels(site, "b")
    assert site.deployment("a") is not None
    await site.delete("a", bundledeployments.KIND)


@pytest.mark.timeout(400)
async def test_a_dependency_is_upgraded_when_the_set_needs_it(site: Site) -> None:
    async with site.controller():
        await site.install({"a": {"1.0.0": ["b <2.0.0"]}, "b": {"1.0.0": [], "2.0.0": []}})
        upgraded: dict[str, Requirements] = {
            "a": {"1.0.0": ["b <2.0.0"], "2.0.0": ["b >=2.0.0"]},
            "b": {"1.0.0": [], "2.0.0": []},
        }
        await site.publish(upgraded)
        await site.until(
            "both are upgraded", lambda: site.is_installed("a", "2.0.0") and site.is_installed("b", "2.0.0")
        )
        await site.until("no record is left", lambda: not site.annotation("a") and not site.annotation("b"))


@pytest.mark.timeout(400)
async def test_an_operator_that_is_deleted_and_created_again_at_once_is_another_one(site: Site) -> None:
    async with site.controller():
        await site.install(CHAIN)
    dependency, old = site.deployment("b"), site.operator("a")
    assert dependency is not None
    assert old is not None
    await remove_by_hand(site, "a")
    await site.request("a")
    async with site.controller():
        await site.until(
            "the new Operator is installed",
            lambda: (
                site.is_installed("a")
                and (site.operator("a") or old)["metadata"]["uid"] != old["metadata"]["uid"]
                and not is_deleting(site, "a")
            ),
        )
    owners = (site.deployment("a") or {})["metadata"]["ownerReferences"]
    assert [each["uid"] for each in owners] == [(site.operator("a") or {})["metadata"]["uid"]]
    assert (site.deployment("b") or {})["metadata"]["uid"] == dependency["metadata"]["uid"]


async def apply_it(site: Site) -> None:
    await site.apply("b")


async def remove_the_proof(site: Site) -> None:
    """Nothing shows any more that operator-controller created it."""
    await site.client.patch(operators.KIND, site.package("b"), {"metadata": {"managedFields": [{}]}})


@pytest.mark.timeout(400)
async def test_what_is_requested_again_while_its_dependency_is_deleted_is_installed_as_soon_as_that_is_gone(
    site: Site,
) -> None:
    """Only the events of the deletion are in time: the next pass without one comes after the test has ended."""
    assert timedelta(seconds=WITHIN_SECONDS) < RESYNC_DELAY
    async with site.controller():
        await site.install(CHAIN)
        definition = f"things.{group(site.package('b'))}"
        await site.client.patch(customresourcedefinitions.KIND, definition, {"metadata": {"finalizers": ["x.io/hold"]}})
        await site.delete("a")
        await site.until("b is being deleted", lambda: site.operator("a") is None and is_deleting(site, "b"))
        await site.request("a")
        await site.until("a says so", lambda: "which is being deleted" in site.ready("a")[2])
        await site.client.patch(customresourcedefinitions.KIND, definition, {"metadata": {"finalizers": []}})
        await site.until("both are installed", lambda: site.is_installed("a") and site.is_installed("b"))


@pytest.mark.timeout(400)
@pytest.mark.parametrize("take", [apply_it, remove_the_proof], ids=["a person applies", "nothing shows who created"])
async def test_a_dependency_is_kept_that(site: Site, take: Callable[[Site], Awaitable[None]]) -> None:
    async with site.controller():
        await site.install(CHAIN)
        assert labels(site, "b") == {INSTALLED_FOR_LABEL: ""}
        await take(site)
        await site.until("the label is removed", lambda: labels(site, "b") == {})
        await site.delete("a")
        await site.until("what required it is gone", lambda: site.is_gone("a"))
        await site.until("nothing holds its deletion", lambda: hold(site, "b") == "")
        assert site.is_installed("b")
        assert site.annotation("b", COUNT_ANNOTATION) == ""
        await site.delete("b")
        await site.until("it is deleted when the person deletes it", lambda: site.is_gone("b"))


@pytest.mark.timeout(400)
async def test_a_second_operator_for_a_dependency_is_asked_to_have_its_name(site: Site) -> None:
    async with site.controller():
        await site.install(CHAIN)
        await site.request("second", packageName=site.package("b"))
        message = (
            f'package "{site.package("b")}" is already managed by Operator "{site.package("b")}", which was installed as a '
            f'dependency: to request it, apply an Operator of the name "{site.package("b")}", and delete this one'
        )
        await site.until("it is refused", lambda: site.ready("second")[2] == message)
        await site.delete("second")
        await site.delete("a")
        await site.until_gone("a", "b", "second")


@pytest.mark.timeout(400)
async def test_a_dependant_that_is_deleted_in_the_foreground_goes_before_its_dependency(site: Site) -> None:
    async with site.controller():
        await site.install(CHAIN)
        await site.delete_in_foreground("a")
        await site.until_gone("a", "b")


@pytest.mark.timeout(400)
async def test_a_dependency_that_is_deleted_in_the_foreground_keeps_running_until_its_dependant_is_gone(
    site: Site,
) -> None:
    async with site.controller():
        await install_held(site)
        await site.delete_in_foreground("b")
        await site.until("the garbage collector has deleted its BundleDeployment", lambda: is_deleting(site, "b"))
        await site.until("it is reported", lambda: site.ready("b")[1] in ("DeletionBlocked", "Removing"))
        assert site.definitions.get(f"things.{site.package('b')}.example.com") is not None
        await site.delete("a")
        await site.until_gone("a", "b")


@pytest.mark.timeout(400)
async def test_a_bundle_deployment_that_a_person_deletes_is_held_while_others_require_it(site: Site) -> None:
    async with site.controller():
        await install_held(site)
        await site.delete("b", bundledeployments.KIND)
        await site.until("it is being deleted", lambda: is_deleting(site, "b"))
        await site.until("the Operator says so", lambda: "deletion is held" in site.ready("b")[2])
        await site.delete("a")
        await site.until_gone("a", "b")


@pytest.mark.timeout(400)
async def test_a_hold_without_an_operator_ends_when_nothing_requires_what_it_holds(site: Site) -> None:
    async with site.controller():
        await install_held(site)
        await remove_by_hand(site, "b")
        await site.until("the garbage collector has deleted its BundleDeployment", lambda: is_deleting(site, "b"))
        assert hold(site, "b") == f"required by Operator {site.package('a')}"
        await site.delete("a")
        await site.until_gone("a", "b")


@pytest.mark.timeout(400)
async def test_a_hold_without_an_operator_ends_also_if_all_happens_while_no_controller_runs(site: Site) -> None:
    async with site.controller():
        await install_held(site)
    await remove_by_hand(site, "b")
    await remove_by_hand(site, "a")
    await site.until("only the hold is left", lambda: site.deployment("a") is None and is_deleting(site, "b"))
    async with site.controller():
        await site.until_gone("a", "b")
