"""Deletes objects and waits until they are gone, and says what holds those that stay.

Called by olmctl.suite.uninstall. Each step can be repeated: it reads what is there, and what is gone already is no error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from olmctl.cluster.operator_state import conditions, part, text_at
from olmctl.commands import FAILED, TIMED_OUT, CommandError, warn
from olmctl.suite.finalizers import CONTROLLER_OF, Controllers, held_text, own_finalizers, remove_own_finalizers
from olmctl.suite.objects import CRD, find_all, is_own, kind_of, name_of, resource_name
from olmctl.terminal import ProgressLine
from olmkit.api import bundledeployments, operators
from olmkit.api.bundledeployments import OWNER_UID_LABEL
from olmkit.api.meta import Kind, Object
from olmkit.errors import Conflict, NotFound, Unavailable
from olmkit.runtime.client import Client

POLL_SECONDS = 0.5
"""The pause between two readings of the cluster."""
FORCED_SECONDS = 30.0
"""How long to wait for objects after their finalizers were removed."""


class Removal:
    """Deletes within one time for everything. With `is_forced` it removes the suite's finalizers where no controller does."""

    def __init__(self, client: Client, controllers: Controllers, seconds: float, *, is_forced: bool) -> None:
        """The time begins with this call."""
        self._client = client
        self._controllers = controllers
        self._seconds = seconds
        self._deadline = _now() + seconds
        self._is_forced = is_forced
        self._line = ProgressLine()

    async def delete_custom_resources(self, kind: Kind, is_chosen: Callable[[Object], bool] = lambda obj: True) -> None:
        """Delete the chosen objects of a kind, and wait until there are none. Raises CommandError with what holds them."""
        shown: dict[str, None] = {}
        while found := [each for each in await custom_resources(self._client, kind) if is_chosen(each)]:
            _print_gone(shown, {resource_name(kind, each) for each in found})
            for each in found:
                shown[resource_name(kind, each)] = None
                if not part(each, "metadata", "deletionTimestamp"):
                    await self._delete(kind, each)
            is_late = _now() > self._deadline
            if kind == operators.KIND:  # an Operator waits for its BundleDeployment
                deployments = await custom_resources(self._client, bundledeployments.KIND)
                await self._strip(bundledeployments.KIND, deployments, is_late=False)
            if not await self._strip(kind, found, is_late=is_late) and is_late:
                self._fail(held_text(kind, each) for each in found)
            await self._pause(held_text(kind, found[0]), len(found))
        self._line.end()
        _print_gone(shown, set())

    async def delete_objects(self, objects: Sequence[Object]) -> None:
        """Delete objects of the manifests in this order, and wait for the end. Objects of others with the same names stay and
        are named. Raises CommandError with what holds them."""
        for each in await find_all(self._client, objects):
            if each is not None and not is_own(each):
                warn(f"{name_of(each)} stays: it is not olm-suite's")
        shown: dict[str, None] = {}
        while found := [each for each in await find_all(self._client, objects) if each is not None and is_own(each)]:
            _print_gone(shown, {name_of(each) for each in found})
            for each in found:
                shown[name_of(each)] = None
                if not part(each, "metadata", "deletionTimestamp"):
                    await self._delete(kind_of(each), each)
            if _now() > self._deadline:
                self._fail(map(_object_text, found))
            await self._pause(_object_text(found[0]), len(found))
        self._line.end()
        _print_gone(shown, set())

    async def _delete(self, kind: Kind, obj: Object) -> None:
        metadata = obj["metadata"]
        with suppress(NotFound, Conflict):  # another object of that name: the next reading decides
            await self._client.delete(kind, metadata["name"], metadata.get("namespace"), uid=metadata["uid"])

    async def _strip(self, kind: Kind, found: Iterable[Object], *, is_late: bool) -> bool:
        """Remove the suite's finalizers of objects that are being deleted and whose controller does not run; returns whether.

        Raises CommandError without is_forced.
        """
        is_changed = False
        for obj in found:
            finalizers = tuple(own_finalizers(obj)) if part(obj, "metadata", "deletionTimestamp") else ()
            stopped = [each for each in finalizers if await self._controllers.is_stopped(CONTROLLER_OF[each])]
            if stopped and not self._is_forced:
                self._line.end()
                raise CommandError(FAILED, _stopped_text(resource_name(kind, obj), stopped[0]))
            if stopped or (finalizers and is_late and self._is_forced):
                await self._remove_finalizers(kind, obj)
                is_changed = True
        if is_changed and is_late:
            self._deadline = _now() + FORCED_SECONDS
        return is_changed

    async def _remove_finalizers(self, kind: Kind, obj: Object) -> None:
        try:
            await remove_own_finalizers(self._client, kind, obj)
        except (Conflict, NotFound):  # it has changed: the next reading decides
            return
        self._line.end()
        text = "its finalizers of the suite are removed"
        if kind == bundledeployments.KIND:
            text += f"; its objects stay: those with the label {OWNER_UID_LABEL}={obj['metadata']['uid']}"
        warn(f"{resource_name(kind, obj)}: {text}")

    async def _pause(self, text: str, count: int) -> None:
        self._line.show(f"waiting for the deletion of {text}" + (f" ({count - 1} more)" if count > 1 else ""))
        await asyncio.sleep(POLL_SECONDS)

    def _fail(self, texts: Iterable[str]) -> None:
        self._line.end()
        raise CommandError(TIMED_OUT, "\n".join((f"not deleted within {self._seconds:g} seconds:", *texts)))


async def custom_resources(client: Client, kind: Kind) -> list[Object]:
    """All objects of a kind of the suite; none if the cluster does not serve it, or has another program's CRD of that name."""
    if not await _is_own_kind(client, kind):
        return []
    while True:
        try:
            return (await client.list(kind))[0]
        except NotFound:
            return []
        except Unavailable as error:
            if error.retry_after is None:
                raise
            await asyncio.sleep(POLL_SECONDS)


async def _is_own_kind(client: Client, kind: Kind) -> bool:
    try:
        return is_own(await client.get(CRD, f"{kind.plural}.{kind.group}"))
    except NotFound:
        return False


def _print_gone(shown: dict[str, None], present: set[str]) -> None:
    for name in [each for each in shown if each not in present]:
        del shown[name]
        print(f"{name} deleted", flush=True)


def _object_text(obj: Object) -> str:
    """What holds an object of the manifests; namespaces and CRDs say it in their conditions."""
    texts = [text_at(each, "message") for each in conditions(obj) if each.get("status") == "True"]
    finalizers = [*(part(obj, "metadata", "finalizers") or ()), *(part(obj, "spec", "finalizers") or ())]
    if not part(obj, "metadata", "deletionTimestamp") or obj["kind"] not in ("Namespace", "CustomResourceDefinition"):
        texts = []
    held = [*texts, *([f"finalizers {', '.join(finalizers)}"] if finalizers else ())]
    return f"{name_of(obj)}: {'; '.join(text for text in held if text) or 'it is being deleted'}"


def _stopped_text(name: str, finalizer: str) -> str:
    controller = CONTROLLER_OF[finalizer]
    return (
        f"{name} is being deleted and waits for {controller}, which does not run: nothing else removes the finalizer "
        f"{finalizer}. Start it again (olm suite install), or use --force: then what was installed stays on the cluster"
    )


def _now() -> float:
    return asyncio.get_running_loop().time()
