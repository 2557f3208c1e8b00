"""A bundle's content as it goes into this cluster: rendered once, remembered as keys and hashes.

Used by rukpak.install.reconciler (what is wanted) and apply (the bodies). Bodies are kept as JSON, a bounded number of bytes, and
only while something of them is to be applied; they are rendered again from the store when they are needed and gone. Reading and
rendering run in threads. Never fetches anything.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from olmkit.store import Store
from rukpak.bundle import BadBundle, Bundle, PlainBundle, from_json
from rukpak.install.kinds import Asked, GroupKind, Kinds
from rukpak.install.namespaces import install_namespace, namespace_for
from rukpak.install.phases import phases
from rukpak.install.preflight import Facts, Preflight, check
from rukpak.install.render import RenderOptions, render
from rukpak.install.scopes import Scopes
from rukpak.install.world import CRD, NAMESPACE, Absent, Content, Item, NamespaceItem, Rendered, Stage
from rukpak.manifest import Manifest, ObjectKey
from rukpak.unpack.job import BUNDLE_FILE

BODIES_LIMIT = 32 * 1024 * 1024
REMEMBERED = 4096
"""Bundles of which keys and hashes are kept."""

Bodies = Mapping[ObjectKey, bytes]


@dataclass(frozen=True)
class _Remembered:
    content: Rendered | BadBundle
    answers: Mapping[GroupKind, frozenset[str]]
    """What it asked about the cluster's kinds, and what it was told."""
    failed_groups: frozenset[str]
    server_version: str


class Contents:
    """Everything that was rendered. `store` holds the unpacked bundles."""

    def __init__(self, store: Store, kinds: Kinds, system_namespace: str) -> None:
        self._store = store
        self._kinds = kinds
        self._system_namespace = system_namespace
        self._remembered: OrderedDict[tuple[str, str], _Remembered] = OrderedDict()
        self._bodies: OrderedDict[tuple[str, str], Bodies] = OrderedDict()
        self._bytes = 0

    async def rendered(self, bundle: str, deployment: str, digest: str) -> Content:
        """The content of that digest as the Bundle of that name, for this cluster as it is now."""
        identity = (deployment, digest)
        known = self._remembered.get(identity)
        if known is not None and self._still_so(known):
            self._remembered.move_to_end(identity)
            return _named(known.content, bundle)
        folder = self._store.path(digest)
        if folder is None:
            return Absent()
        return await self._render(identity, bundle, folder)

    async def bodies(self, content: Rendered, deployment: str) -> Bodies:
        """The objects as JSON. Raises KeyError when the content has left the disk."""
        identity = (deployment, content.content)
        if identity not in self._bodies:
            folder = self._store.path(content.content)
            if folder is None:
                raise KeyError(content.content)
            await self._render(identity, content.bundle, folder)
        self._bodies.move_to_end(identity)
        return self._bodies[identity]

    def settle(self, deployment: str) -> None:
        """Nothing of that BundleDeployment is to be applied now: its bodies need no room."""
        for identity in [identity for identity in self._bodies if identity[0] == deployment]:
            self._bytes -= _size(self._bodies.pop(identity))

    def _still_so(self, known: _Remembered) -> bool:
        return (
            known.failed_groups == self._kinds.failed_groups
            and known.server_version == self._kinds.server_version
            and all(self._kinds.versions(kind) == versions for kind, versions in known.answers.items())
        )

    async def _render(self, identity: tuple[str, str], bundle: str, folder: Path) -> Content:
        served = self._kinds.asked()
        failed, version = self._kinds.failed_groups, self._kinds.server_version
        facts = Facts(served, failed, version, self._system_namespace)
        work = _Work(bundle, identity[0], identity[1], folder / BUNDLE_FILE, facts, self._kinds.scopes())
        try:
            content, bodies = await asyncio.to_thread(work)
        except FileNotFoundError:
            return Absent()
        self._remembered[identity] = _Remembered(content, served.answers, failed, version)
        while len(self._remembered) > REMEMBERED:
            self._remembered.popitem(last=False)
        if bodies:
            self._keep(identity, bodies)
        return content

    def _keep(self, identity: tuple[str, str], bodies: Bodies) -> None:
        old = self._bodies.pop(identity, {})
        self._bodies[identity] = bodies
        self._bytes += _size(bodies) - _size(old)
        while self._bytes > BODIES_LIMIT and len(self._bodies) > 1:
            self._bytes -= _size(self._bodies.popitem(last=False)[1])


def _named(content: Content, bundle: str) -> Content:
    """Two Bundles may hold one content."""
    if isinstance(content, Rendered) and content.bundle != bundle:
        return replace(content, bundle=bundle)
    return content


def _size(bodies: Bodies) -> int:
    return sum(len(body) for body in bodies.values())


@dataclass(frozen=True)
class _Work:
    """Reading, rendering and checking of one bundle; called in a thread."""

    bundle: str
    deployment: str
    digest: str
    file: Path
    facts: Facts
    scopes: Scopes

    def __call__(self) -> tuple[Rendered | BadBundle, dict[ObjectKey, bytes]]:
        try:
            content = from_json(self.file.read_bytes())
        except (ValueError, KeyError, TypeError):
            text = (
                "the unpacked content cannot be read by this version: delete the Bundle, it is made and unpacked again"
            )
            return BadBundle("BundleLoadFailed", text), {}
        namespace, notes = self._namespace(content)
        try:
            manifests = render(content, RenderOptions(namespace, scopes=self.scopes))
            ready = check(manifests, content, self.facts)
        except BadBundle as error:
            return error, {}
        bodies = {item.key: orjson.dumps(item.body, option=orjson.OPT_SORT_KEYS) for item in ready.manifests}
        return self._rendered(namespace, notes, ready, bodies), bodies

    def _namespace(self, content: Bundle) -> tuple[str, tuple[str, ...]]:
        if isinstance(content, PlainBundle):
            return namespace_for(self.deployment), ()
        return install_namespace(content, self.facts.system_namespace)

    def _rendered(self, namespace: str, notes: tuple[str, ...], ready: Preflight, bodies: Bodies) -> Rendered:
        stages = tuple(
            Stage(phase.name, tuple(_item(manifest, bodies[manifest.key]) for manifest in phase.manifests))
            for phase in phases(ready.manifests)
        )
        assert isinstance(self.facts.served, Asked)
        answers = self.facts.served.answers
        return Rendered(
            bundle=self.bundle,
            content=self.digest,
            namespace=namespace,
            stages=stages,
            namespaces=tuple(_namespace_item(item) for item in ready.manifests if item.key[:2] == NAMESPACE),
            notes=notes,
            left_out=ready.left_out,
            missing=ready.missing,
            faults=ready.faults,
            lacking=frozenset(kind for kind, versions in answers.items() if not versions),
        )


def _item(manifest: Manifest, body: bytes) -> Item:
    storage = _storage(manifest.body) if manifest.key[:2] == CRD else ""
    return Item(manifest.key, manifest.api_version, hashlib.sha256(body).hexdigest()[:16], storage)


def _storage(body: Mapping[str, Any]) -> str:
    versions: Iterable[Mapping[str, Any]] = (body.get("spec") or {}).get("versions") or ()
    return next((str(version.get("name", "")) for version in versions if version.get("storage")), "")


def _namespace_item(manifest: Manifest) -> NamespaceItem:
    metadata = manifest.body["metadata"]
    return NamespaceItem(manifest.name, dict(metadata.get("labels") or {}), dict(metadata.get("annotations") or {}))
