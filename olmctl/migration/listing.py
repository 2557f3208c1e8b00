"""Lists the objects of a cluster by kind, to find those of an installation. Changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from olmctl.commands import FAILED, CommandError
from olmctl.migration.records import DEPLOYMENT
from olmctl.migration.values import name_of, namespace_of
from olmctl.questions.session import Session
from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError, NotFound
from olmkit.runtime.discovery import Discovery

MAX_CONCURRENT_LISTS = 8
_NEVER_OWNED = frozenset({
    ("", "Event"), ("events.k8s.io", "Event"), ("", "Pod"), ("apps", "ReplicaSet"), ("", "Endpoints"),
    ("discovery.k8s.io", "EndpointSlice"), ("coordination.k8s.io", "Lease"), ("apps", "ControllerRevision"),
})  # fmt: skip
"""Kinds whose objects are made by controllers of Kubernetes, or in great number."""


@dataclass(frozen=True)
class Found:
    """One object of an installation."""

    kind: Kind
    obj: Object

    def __str__(self) -> str:
        """Such as `Deployment ns/lamp`."""
        namespace = namespace_of(self.obj)
        return f"{self.kind.kind} {f'{namespace}/' if namespace else ''}{name_of(self.obj)}"

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Group, kind, namespace and name."""
        return *self.kind.group_kind, namespace_of(self.obj), name_of(self.obj)


async def discovered(session: Session) -> Discovery:
    """The kinds that the API server serves. Raises CommandError if that is not known: what is not seen could be deleted."""
    discovery = await session.client.discover()
    if discovery.failed_groups:
        names = ", ".join(sorted(discovery.failed_groups))
        raise CommandError(FAILED, f"what is served of {names} is not known: its API server does not answer")
    return discovery


def stored_kinds(discovery: Discovery) -> Iterator[Kind]:
    """The kinds whose objects an installation may have, each in one version."""
    for group_kind, kind in sorted(discovery.kinds.items()):
        version = (kind.group, kind.version, kind.kind)
        if version in discovery.listable and version in discovery.deletable and group_kind not in _NEVER_OWNED:
            yield kind


async def listed(
    session: Session, lists: Iterable[tuple[Kind, str, str]], is_wanted: Callable[[Object], bool]
) -> list[Found]:
    """Each wanted object of these lists once; a list is a kind, a namespace and a label selector. Raises CommandError if one
    cannot be read."""
    limit = asyncio.Semaphore(MAX_CONCURRENT_LISTS)
    answers = await asyncio.gather(*(_objects_of(session, limit, *each) for each in lists))
    found = {each.key: each for objects in answers for each in objects if is_wanted(each.obj)}
    return sorted(found.values(), key=lambda each: each.key)


async def _objects_of(
    session: Session, limit: asyncio.Semaphore, kind: Kind, namespace: str, selector: str
) -> list[Found]:
    is_whole = kind.group_kind == DEPLOYMENT
    try:
        async with limit:
            objects, _ = await session.client.list(
                kind, namespace or None, selector or None, metadata_only=not is_whole
            )
    except NotFound:  # its CustomResourceDefinition has been deleted
        return []
    except ApiError as error:
        name = f"{kind.plural}{f'.{kind.group}' if kind.group else ''}"
        where = f" in namespace {namespace}" if namespace else ""
        raise CommandError(FAILED, f"{name} cannot be listed{where}: {error.message}") from error
    return [Found(kind, {**each, "apiVersion": kind.api_version, "kind": kind.kind}) for each in objects]
