"""Deletes objects and waits until they are gone, and says what holds those that stay.

Each step can be repeated: it reads what is there, and what is gone already is no error. Never removes a finalizer of the suite
while its controller may run.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http import HTTPStatus
from typing import Self

from olmctl.commands import REFUSED, TIMED_OUT, CommandError, warn
from olmctl.questions.operator_state import is_terminating
from olmctl.suite.controller_stop import check_stopped, stop
from olmctl.suite.controllers import Controllers
from olmctl.suite.finalizers import controllers_of, held_text, remove_own_finalizers
from olmctl.suite.manifests import PART_OF, PART_OF_LABEL
from olmctl.suite.objects import (
    CRD,
    KINDS,
    deletion_text,
    find_all,
    is_own,
    kind_of,
    name_of,
    place_of,
    resource_name,
)
from olmctl.suite.watched import Watched
from olmctl.terminal_output import ProgressLine, say
from olmkit.api import bundledeployments, bundles, catalogs, clustercatalogs, clusterextensions, operators
from olmkit.api.bundledeployments import OWNER_UID_LABEL
from olmkit.api.customresourcedefinitions import CustomResourceDefinition, custom_resource_definition
from olmkit.api.meta import Kind, Object
from olmkit.errors import Conflict, NotFound, Unavailable
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer
from olmkit.runtime.lease_holder import LEASE
from olmkit.tls.certificate_rotator import SECRET
from olmkit.tls.service import CONFIG_MAP, TLS_SERVICES

V1_KINDS = (clusterextensions.KIND, clustercatalogs.KIND)
"""The kinds of OLM v1 that own Operators and Catalogs."""
CUSTOM_KINDS = (*V1_KINDS, operators.KIND, bundledeployments.KIND, bundles.KIND, catalogs.KIND)
"""The kinds that users create, in the order in which they are deleted. Packages belong to Catalogs."""
STOP_SECONDS = 60.0
"""The time to wait for the end of a controller when the time is over: its pods have 30 seconds, and its Lease expires."""
FORCED_SECONDS = 30.0
"""The time to wait for objects after their finalizers were removed."""
REPEAT_SECONDS = 1.0
"""The delay before a change that the API server could not carry out is requested again."""
_SELECTOR = f"{PART_OF_LABEL}={PART_OF}"
_NO_OBJECT = f"{PART_OF_LABEL},!{PART_OF_LABEL}"
"""A selector that selects nothing."""
Choice = Callable[[Object], bool]


class Removal:
    """Deletes within one time for everything. With `is_forced` it stops the controllers that do not finish, and removes their
    finalizers."""

    def __init__(
        self, client: Client, watched: Watched, controllers: Controllers, seconds: float, *, is_forced: bool
    ) -> None:
        """Use open()."""
        self._client = client
        self._watched = watched
        self._controllers = controllers
        self._seconds = seconds
        self._deadline = _now() + seconds
        self._is_forced = is_forced
        self._line = ProgressLine()
        self._custom: Mapping[Kind, Informer] = {}
        self._objects: Mapping[Kind, Informer] = {}
        self._stopped: set[str] = set()
        """Controllers that this command has stopped."""
        self._repeat_at = math.inf
        """The time at which a change is requested again that the API server could not carry out."""

    @classmethod
    async def open(cls, client: Client, watched: Watched, namespace: str, seconds: float, *, is_forced: bool) -> Self:
        """Begin to follow what will be deleted; the time begins too. Raises Unavailable."""
        controllers = await Controllers.open(client, namespace, watched)
        self = cls(client, watched, controllers, seconds, is_forced=is_forced)
        self._custom = {kind: await watched.follow(kind) for kind in CUSTOM_KINDS if await is_own_kind(client, kind)}
        self._objects = {kind: await watched.follow(kind, label_selector=_SELECTOR) for kind in KINDS}
        return self

    async def check_controllers(self, is_chosen: Choice) -> None:
        """Raises CommandError if a controller does not run that has to finish the deletion of a chosen object, or of what
        belongs to it. With `is_forced`, such a controller is stopped for good."""
        found = [each for informer in self._custom.values() for each in informer.objects.values()]
        uids = {each["metadata"]["uid"] for each in found if is_chosen(each)}
        names = {
            name
            for each in found
            if uids & {each["metadata"]["uid"], *owner_uids(each)}
            for name in controllers_of(each)
        }
        try:
            stopped = await self._controllers.find_stopped(names, self._line.show)
        finally:
            self._line.end()
        if stopped and not self._is_forced:
            raise CommandError(REFUSED, _stopped_text(stopped))
        await self._stop(stopped, self._deadline)

    def is_ending(self, obj: Object) -> bool:
        """Report whether the deletion of a custom resource has begun, or will be begun by the garbage collector: its owner is
        gone."""
        owners = [each for each in obj["metadata"].get("ownerReferences") or () if each["kind"] in self._by_name]
        return is_terminating(obj) or (bool(owners) and not any(map(self._exists, owners)))

    def _exists(self, owner: Object) -> bool:
        found = self._by_name[owner["kind"]].get(owner["name"])
        return found is not None and found["metadata"]["uid"] == owner["uid"]

    @property
    def _by_name(self) -> Mapping[str, Informer]:
        return {kind.kind: informer for kind, informer in self._custom.items()}

    async def _stop(self, names: Iterable[str], until: float) -> None:
        for name in names:
            await stop(self._client, self._controllers, self._watched, name, until)
            self._stopped.add(name)

    async def delete_custom_resources(self, kind: Kind, is_chosen: Choice) -> None:
        """Delete the chosen objects of a kind, and wait until there are none. Raises CommandError with what holds them."""

        def present() -> list[Object]:
            return [each for each in self._of_kind(kind) if is_chosen(each)]

        shown: dict[str, None] = {}
        while found := present():
            _print_gone(shown, {resource_name(kind, each) for each in found})
            for each in found:
                shown[resource_name(kind, each)] = None
                await self._delete(self._custom[kind], each)
            if _now() > self._deadline:
                await self._finish_late(kind, found)
            await self._strip(kind, found)
            if kind == operators.KIND:  # an Operator waits for its BundleDeployment
                await self._strip(bundledeployments.KIND, self._of_kind(bundledeployments.KIND))
            await self._pause(held_text(kind, found[0]), len(found))
        self._line.end()
        _print_gone(shown, set())

    async def release(self, kind: Kind) -> None:
        """Remove the suite's finalizers from the objects of a kind: controllers of others may serve them. Those of the suite have
        no permission any more to add them again."""
        for each in self._of_kind(kind):
            if controllers_of(each):
                with suppress(NotFound):
                    await remove_own_finalizers(self._client, kind, each)

    def _of_kind(self, kind: Kind) -> list[Object]:
        return list(self._custom[kind].objects.values()) if kind in self._custom else []

    async def _finish_late(self, kind: Kind, found: Sequence[Object]) -> None:
        """Stop the controllers that have not finished in time, once, or give up."""
        waiting = [*found, *(self._of_kind(bundledeployments.KIND) if kind == operators.KIND else ())]
        names = {name for each in waiting for name in controllers_of(each)} - self._stopped
        if not self._is_forced or not names:
            silent = [f"{name} does not run" for name in sorted(names) if not self._controllers.runs(name)]
            self._fail((*(held_text(kind, each) for each in found), *silent))
        self._line.end()
        await self._stop(sorted(names), _now() + STOP_SECONDS)
        self._deadline = _now() + FORCED_SECONDS

    async def delete_objects(self, objects: Sequence[Object]) -> None:
        """Delete objects of the manifests in this order, and wait for the end. Objects of others with the same names stay and
        are named. Raises CommandError with what holds them."""
        for each in await find_all(self._client, objects):
            if each is not None and not is_own(each):
                warn(f"{name_of(each)} stays: it is not olm-suite's")
            elif each is not None and kind_of(each) == CRD:
                await self._read(custom_resource_definition(each))

        def present() -> list[Object]:
            found = (self._objects[kind_of(each)].get(*place_of(each)) for each in objects)
            return [each for each in found if each is not None]

        shown: dict[str, None] = {}
        while found := present():
            _print_gone(shown, {name_of(each) for each in found})
            for each in found:
                shown[name_of(each)] = None
                await self._delete(self._objects[kind_of(each)], each)
            if _now() > self._deadline:
                self._fail(map(deletion_text, found))
            await self._pause(deletion_text(found[0]), len(found))
        self._line.end()
        _print_gone(shown, set())

    async def _read(self, crd: CustomResourceDefinition) -> None:
        """Return when the API server has read the objects of a kind.

        It lists them before it deletes their CRD. That fails while it reads a kind that nobody has asked for before, and may be
        tried again only minutes later. A request with a selector waits for it.
        """
        if crd.is_served:
            kind = Kind(crd.group, crd.served_versions[0], crd.kind, crd.plural)
            with suppress(NotFound):
                await self._client.list(kind, label_selector=_NO_OBJECT)

    async def delete_contents(self, namespace: str, leases: Iterable[str]) -> None:
        """Delete what the controllers have made in a namespace that stays: their certificates, and their Leases."""
        made = [(LEASE, name) for name in leases]
        made += [(SECRET, each.secret) for each in TLS_SERVICES] + [
            (CONFIG_MAP, each.config_map) for each in TLS_SERVICES
        ]
        for kind, name in made:
            with suppress(NotFound):
                await self._client.delete(kind, name, namespace)

    async def _delete(self, informer: Informer, obj: Object) -> None:
        """Request the deletion of an object, unless it is being deleted."""
        if is_terminating(obj):
            return
        metadata = obj["metadata"]
        name, namespace, uid = metadata["name"], metadata.get("namespace"), metadata["uid"]
        # It is gone, or another one has its name: a change follows.
        with suppress(NotFound, Conflict), self._repeated():
            left = await self._client.delete(informer.kind, name, namespace, uid=uid)
            if left is None:
                informer.record_deletion(name, uid, namespace or "")
            else:
                informer.record_write(left)

    async def _strip(self, kind: Kind, found: Iterable[Object]) -> None:
        """Remove the suite's finalizers from objects that are being deleted and whose controllers this command has stopped."""
        chosen = [obj for obj in found if is_terminating(obj) and self._has_stopped(controllers_of(obj))]
        for name in sorted({name for obj in chosen for name in controllers_of(obj)}):
            await check_stopped(self._controllers, name)
        for obj in chosen:
            with suppress(NotFound, Conflict), self._repeated():  # it has changed: a change follows
                await remove_own_finalizers(self._client, kind, obj)
                self._line.end()
                text = "its finalizers of the suite are removed"
                if kind == bundledeployments.KIND:
                    text += f"; its objects stay: those with the label {OWNER_UID_LABEL}={obj['metadata']['uid']}"
                warn(f"{resource_name(kind, obj)}: {text}")

    @contextmanager
    def _repeated(self) -> Iterator[None]:
        """Repeat a change later that the API server could not carry out: it asks a webhook for a moment after the configuration
        of the webhook is deleted. Raises Unavailable when the time is over, or if there was no answer."""
        try:
            yield
        except Unavailable as error:
            if error.status < HTTPStatus.INTERNAL_SERVER_ERROR or _now() > self._deadline:
                raise
            self._repeat_at = _now() + REPEAT_SECONDS

    def _has_stopped(self, names: set[str]) -> bool:
        return bool(names) and names <= self._stopped

    async def _pause(self, text: str, count: int) -> None:
        self._line.show(f"waiting for the deletion of {text}" + (f" ({count - 1} more)" if count > 1 else ""))
        await self._watched.change(min(self._deadline, self._repeat_at))
        self._repeat_at = math.inf

    def _fail(self, texts: Iterable[str]) -> None:
        self._line.end()
        raise CommandError(TIMED_OUT, "\n".join((f"not deleted within {self._seconds:g} seconds:", *texts)))


async def custom_resources(client: Client, kind: Kind) -> list[Object]:
    """All objects of a kind of the suite; none if the cluster does not serve it, or has another program's CRD of that name."""
    if not await is_own_kind(client, kind):
        return []
    with suppress(NotFound):
        return (await client.list(kind))[0]
    return []


async def is_own_kind(client: Client, kind: Kind) -> bool:
    """Report whether the CRD of a kind is the suite's."""
    try:
        return is_own(await client.get(CRD, f"{kind.plural}.{kind.group}"))
    except NotFound:
        return False


def owner_uids(obj: Object) -> set[str]:
    """The uids of the owners of an object."""
    return {each["uid"] for each in obj["metadata"].get("ownerReferences") or ()}


def _print_gone(shown: dict[str, None], present: set[str]) -> None:
    for name in [each for each in shown if each not in present]:
        del shown[name]
        say(f"{name} deleted", flush=True)


def _stopped_text(names: Sequence[str]) -> str:
    run, them, their = ("does", "it", "its") if len(names) == 1 else ("do", "them", "their")
    return (
        f"{' and '.join(names)} {run} not run, and nothing else completes the deletion of objects with {their} finalizers: "
        f"nothing is deleted. Start {them} (olm suite install), or use --force: then what was installed stays on the cluster"
    )


def _now() -> float:
    return asyncio.get_running_loop().time()
