"""Custom resources of one bundle whose CustomResourceDefinition is removed with another one."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from olmkit.api import bundledeployments
from olmkit.api.bundledeployments import DELETION_HOLD_ANNOTATION
from olmkit.api.meta import Kind
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Change, Informer
from tests.cluster.rukpak.harness import (
    READY,
    Harness,
    Object,
    definition,
    gone,
    kind_of,
    namespace,
    plain,
    running_informers,
    says,
    thing,
)
from tests.conditions import triple


async def test_custom_resources_are_not_created_again_while_their_definition_is_removed(
    at: Harness, running: Client
) -> None:
    boats, other, late = kind_of(at.group), f"{at.name}-b", f"{at.name}-c"
    fleet = at.push(plain(namespace(at.name), definition(at.group)))
    brought = (namespace(other), thing(boats, "brought", other))
    for name, ref in ((at.name, fleet), (other, at.push(plain(*brought), "b"))):
        await at.install(ref, name)
        await at.until(READY, name)
    removed = f"its CustomResourceDefinition is being removed with BundleDeployment {at.name}"
    async with created_in(at, boats, other) as created:
        await hold(at, "party needs it")
        await at.remove()
        await at.until(says("Ready", "False", "DeletionHeld"))
        await at.client.delete(boats, "brought", other)
        await at.when(boats, "brought", other, lambda found: uid_of(found) not in ("", created[0]))
        await at.until(READY, other)  # nothing is removed yet

        await at.create(boats, thing(boats, "held", at.name, finalizers=["test.example.com/hold"]))
        await hold(at, None)
        await at.until(says("Ready", "False", "Removing", "test.example.com/hold"))
        await at.until(says("Ready", "False", "WaitingForKind", f"Boat ({at.group}/v1): {removed}"), other)
        await at.install(at.push(plain(namespace(late), thing(boats, "late", late)), "c"), late)
        await at.until(says("Reconciling", "True", "WaitingForKind", removed), late)
        await hold(at, "picnic needs it")
        await at.until(READY, other)  # the event of the hold is enough
        await hold(at, None)
        await at.until(says("Ready", "False", "WaitingForKind", removed), other)
        await at.when(boats, "brought", other, gone)
        await at.client.patch(boats, "held", {"metadata": {"finalizers": None}}, at.name)
        await at.until(gone)
        await at.until(lambda raw: raw is not None and triple(raw, "Ready")[2].endswith(f"({at.group}/v1)"), other)
        assert len(created) == 3, "with its bundle, and once in each of the times in which the deletion was held"
    await at.install(fleet)
    for name in (at.name, other, late):
        await at.until(READY, name)


async def hold(at: Harness, text: str | None) -> None:
    patch = {"metadata": {"annotations": {DELETION_HOLD_ANNOTATION: text}}}
    await at.client.patch(bundledeployments.KIND, at.name, patch)


@contextlib.asynccontextmanager
async def created_in(at: Harness, kind: Kind, namespace: str) -> AsyncIterator[list[str]]:
    """The uids of all objects of a kind that have been in a Namespace, in the order of their creation."""
    found: list[str] = []

    def note(change: Change) -> None:
        if uid_of(change.new) not in ("", *found):
            found.append(uid_of(change.new))

    informer = Informer(at.client, kind, namespace=namespace, absent_is_empty=True)
    informer.subscribe(note)
    async with running_informers(informer):
        yield found


def uid_of(raw: Object | None) -> str:
    return str((raw or {}).get("metadata", {}).get("uid", ""))
