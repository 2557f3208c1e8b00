"""Reads the CustomResourceDefinitions that a bundle is about to replace, and compares them with those of the bundle.

Called by rukpak.bundledeployment.observe, only for those that differ: informers hold no schemas; existing_objects uses
`definition_body`. A result is kept until one of the two changes. Never writes; what cannot be read is part of the answer.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import orjson

from olmkit.api import customresourcedefinitions
from olmkit.api.meta import Object
from olmkit.crd_safety.compare import compare
from olmkit.crd_safety.problem import Problem
from olmkit.errors import ApiError, NotFound, Unavailable
from olmkit.runtime.client import Client
from rukpak.bundledeployment.render_cache import RenderCache
from rukpak.bundledeployment.rendered_bundle import RenderedBundle, RenderedObject
from rukpak.bundledeployment.world import World

MAX_KEPT = 1024
"""CustomResourceDefinitions whose problems are kept."""

_Identity = tuple[str, str, str]
"""uid and resourceVersion of the one on the cluster, digest of the one of the bundle."""


@dataclass(frozen=True)
class CrdChangeReader:
    """Reads for all BundleDeployments; `limit` is shared with whoever else sends requests."""

    client: Client
    render_cache: RenderCache
    limit: asyncio.Semaphore
    _known: OrderedDict[_Identity, tuple[Problem, ...]] = field(default_factory=OrderedDict)

    async def problems(
        self, world: World, items: Iterable[RenderedObject]
    ) -> Mapping[str, tuple[Problem, ...] | ApiError]:
        """Find the rules that each of these CustomResourceDefinitions of the bundle breaks, by name."""
        return {item.key.name: await self._problems(world, item) for item in items}

    async def _problems(self, world: World, item: RenderedObject) -> tuple[Problem, ...] | ApiError:
        crd = world.crds[item.key.name]
        identity = (crd.uid, crd.resource_version, item.digest)
        if identity not in self._known:
            try:
                self._known[identity] = await self._compared(world, item)
            except NotFound:
                return ()  # it is created
            except ApiError as error:
                return error
        self._known.move_to_end(identity)
        while len(self._known) > MAX_KEPT:
            self._known.popitem(last=False)
        return self._known[identity]

    async def _compared(self, world: World, item: RenderedObject) -> tuple[Problem, ...]:
        body = await definition_body(self.render_cache, world, item)
        async with self.limit:
            live = await self.client.get(customresourcedefinitions.KIND, item.key.name)
        return await asyncio.to_thread(_compare, live, body)


async def definition_body(render_cache: RenderCache, world: World, item: RenderedObject) -> bytes:
    """The object of the bundle as JSON. Raises ApiError when its content is not there now."""
    assert isinstance(world.content, RenderedBundle)
    try:
        return (await render_cache.bodies(world.content, world.name))[item.key]
    except KeyError:
        raise Unavailable(0, "", "the content of the bundle is unavailable") from None


def _compare(live: Object, body: bytes) -> tuple[Problem, ...]:
    return compare(live, orjson.loads(body))
