"""Objects of a chart that Helm would keep: they stay without an owner, and with them their Namespace."""

from __future__ import annotations

from dataclasses import replace

from rukpak.bundledeployment.cluster.namespace_info import NamespaceInfo
from rukpak.bundledeployment.deletion.prune import prune
from rukpak.bundledeployment.deletion.retention import Retention
from rukpak.bundledeployment.plan import DeleteObjects, NamespaceRemoval, Prune, RemoveFinalizer
from rukpak.bundledeployment.world import LabeledObject, World
from tests.unit.rukpak.bundledeployment.worlds import (
    NS,
    SECRET,
    WORKLOAD,
    deleting,
    installed,
    member,
    namespace,
    of_chart,
    plan_of,
    rendered,
)

KEPT = member(SECRET, is_kept=True)


def having(*members: LabeledObject, spaces: tuple[NamespaceInfo, ...] = ()) -> World:
    """A chart that is being deleted, with these objects left."""
    seen = of_chart(deleting())
    labeled = {entry.key: entry for entry in members}
    return replace(seen, labeled=labeled, namespaces={one.name: one for one in spaces})


def test_all_others_are_deleted_first() -> None:
    plan = plan_of(having(KEPT, member(WORKLOAD)))
    assert isinstance(plan, DeleteObjects)
    assert [entry.key for group in plan.groups for entry in group] == [WORKLOAD]


def test_then_its_namespace_is_released_and_then_the_object() -> None:
    """Not in one step: a process that is killed in between would find a Namespace to delete, with the object in it."""
    own = namespace(NS.name)
    assert plan_of(having(KEPT, spaces=(own,))) == Prune(namespaces=(NamespaceRemoval(own, Retention.RELEASE),))
    assert plan_of(having(KEPT)) == Prune(release=(KEPT,))
    assert plan_of(having()) == RemoveFinalizer()


def test_an_object_that_left_the_chart_is_released() -> None:
    seen = of_chart(installed())
    content = rendered(WORKLOAD, bundle=seen.target_bundle)
    seen = replace(seen, labeled={SECRET: KEPT, WORKLOAD: member(WORKLOAD)}, content=content)
    assert prune(seen, content) == Prune(release=(KEPT,))


def test_the_annotation_means_nothing_in_other_bundles() -> None:
    seen = replace(deleting(), labeled={SECRET: KEPT}, namespaces={})
    assert isinstance(plan_of(seen), DeleteObjects)
