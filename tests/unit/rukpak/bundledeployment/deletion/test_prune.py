"""Which objects that are no longer in the bundle are removed next, and whose usage that depends on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from olmkit.errors import ApiError, Unavailable, Waiting
from rukpak.bundledeployment.decide import decide
from rukpak.bundledeployment.deletion.retention import Retention
from rukpak.bundledeployment.plan import NamespaceRemoval, Prune, ReadUsage
from rukpak.bundledeployment.world import CRD, Usage, World
from rukpak.format.objects import ObjectKey
from tests.unit.rukpak.bundledeployment.worlds import NOW, installed, member, namespace, plan_of

OLD_CRD, OLDER_CRD = (ObjectKey(*CRD, "", name) for name in ("cups.example.com", "dishes.example.com"))
OLD_SECRET = ObjectKey("", "Secret", "ship-system", "old")
AWAY = Unavailable(503, "ServiceUnavailable", "etcd is away")


def left(*keys: ObjectKey, **usage: Usage | ApiError) -> World:
    """Installed, and these objects are no longer in the bundle; `usage` by the first part of a name."""
    seen = installed()
    objects = {key: member(key) for key in keys}
    known = {f"uid-{key.name}": usage[name] for key in keys if (name := key.name.partition(".")[0]) in usage}
    kinds = seen.inventory | {key[:2] for key in keys}
    return replace(seen, labeled={**seen.labeled, **objects}, usage=known, inventory=kinds)


def names(plan: object) -> tuple[list[str], list[str], list[str]]:
    """What is deleted, which CRDs are deleted, and which are released."""
    assert isinstance(plan, Prune)
    parts = (plan.delete, plan.delete_crds, plan.release)
    return tuple([entry.key.name for entry in part] for part in parts)  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        pytest.param(left(OLD_SECRET), (["old"], [], []), id="an object is deleted"),
        pytest.param(left(OLD_CRD, cups=Usage.UNUSED), ([], [OLD_CRD.name], []), id="a CRD is deleted"),
        pytest.param(left(OLD_CRD, cups=Usage.IN_USE), ([], [], [OLD_CRD.name]), id="a CRD in use is released"),
        pytest.param(
            left(OLD_CRD, OLD_SECRET, cups=Usage.UNUSED), (["old"], [], []), id="CRDs follow all other objects"
        ),
        pytest.param(
            left(OLD_CRD, OLDER_CRD, cups=Usage.IN_USE, dishes=AWAY),
            ([], [], [OLD_CRD.name]),
            id="a CRD whose custom resources cannot be listed holds up no others",
        ),
    ],
)
def test_objects(seen: World, expected: tuple[list[str], list[str], list[str]]) -> None:
    assert names(plan_of(seen)) == expected


def test_nothing_is_decided_about_a_crd_whose_custom_resources_cannot_be_listed() -> None:
    with pytest.raises(Waiting, match=r"cannot be listed: .*cups.example.com \(etcd is away\)"):
        plan_of(left(OLD_CRD, cups=AWAY))


def test_nothing_is_decided_about_a_namespace_whose_objects_cannot_be_listed() -> None:
    old, before = namespace("old"), namespace("before", created=False)
    seen = installed()
    seen = replace(seen, namespaces={**seen.namespaces, "old": old, "before": before}, usage={old.uid: AWAY})
    assert plan_of(seen) == Prune(namespaces=(NamespaceRemoval(before, Retention.LEAVE),))
    seen = replace(seen, namespaces={name: facts for name, facts in seen.namespaces.items() if name != "before"})
    with pytest.raises(Waiting, match=r"cannot be listed: Namespace old \(etcd is away\)"):
        plan_of(seen)


def test_a_namespace_that_rukpak_made_and_that_is_required_now_is_left_before_its_usage_is_read() -> None:
    seen, required = installed(), namespace("old", is_required=True)
    seen = replace(seen, namespaces={**seen.namespaces, "old": required})
    assert plan_of(seen) == Prune(namespaces=(NamespaceRemoval(required, Retention.LEAVE),))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(lambda seen: seen, [OLD_CRD], id="pruning is next"),
        pytest.param(
            lambda seen: replace(seen, usage={f"uid-{OLD_CRD.name}": AWAY}), [], id="it was read, and cannot be now"
        ),
        pytest.param(lambda seen: replace(seen, inventory=frozenset()), [], id="another step is next"),
        pytest.param(
            lambda seen: replace(seen, unsynced=frozenset({OLD_CRD[:2]})), [], id="nothing can be removed now"
        ),
        pytest.param(
            lambda seen: replace(seen, labeled={**seen.labeled, OLD_CRD: member(OLD_CRD, deletion_timestamp=NOW)}),
            [],
            id="it is being deleted",
        ),
    ],
)
def test_usage_is_read_only_when_it_is_needed(change: Callable[[World], World], expected: list[ObjectKey]) -> None:
    plan = decide(change(left(OLD_CRD))).plan
    assert [crd.key for crd in (plan.crds if isinstance(plan, ReadUsage) else ())] == expected
