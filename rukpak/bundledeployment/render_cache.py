"""The content of bundles, rendered once for this cluster and kept as keys and hashes.

Bodies are kept as JSON up to a number of bytes, and only while some of them have to be applied. After that they are rendered
again from the store. Reading and rendering run in threads. Never fetches anything: it notes missing or damaged content, and the
reconciler requests it from the controller of Bundles.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import orjson

from olmkit.errors import Waiting
from olmkit.gocompat.text import list_names
from olmkit.store.store import Store
from rukpak.bundle.storage import load
from rukpak.bundledeployment.cluster.rest_mapper import GroupKind, RecordedLookups, RestMapper
from rukpak.bundledeployment.rendered_bundle import (
    Content,
    InstallPhase,
    MissingContent,
    RenderedBundle,
    RenderedNamespace,
    RenderedObject,
    UnrenderedChart,
)
from rukpak.bundledeployment.world import CRD, NAMESPACE
from rukpak.charts.rendering import Path, shown, stable, unpacked
from rukpak.crds.conversion_order import NO_VERSIONS, versions_of
from rukpak.format import BadBundle, Bundle
from rukpak.format.objects import BundleObject, ObjectKey
from rukpak.permissions.needed import needed_permissions
from rukpak.render.cluster_info import ClusterInfo
from rukpak.render.install_options import InstallOptions
from rukpak.render.namespaces import external_namespaces
from rukpak.render.phases import NAMESPACES, phases
from rukpak.render.preflight import Preflight
from rukpak.render.renderer import installation
from rukpak.render.scopes import Scopes

MAX_BODIES_BYTES = 32 * 1024 * 1024
MAX_RENDERED_BUNDLES = 4096
"""The number of bundles whose keys and hashes are kept."""

REASON = "BundleLoadFailed"
EXTERNAL_NAMESPACE_DIGEST = "joined"
"""The digest of the apply to a Namespace that a bundle only writes to."""
BAD_INPUT_ERRORS = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
"""Errors that rendering raises for a bundle with faults that no check finds."""

Bodies = Mapping[ObjectKey, bytes]
Changing = Mapping[ObjectKey, tuple[Path, ...]]
NO_CONFIG = b"{}"


class _Identity(NamedTuple):
    """The identity of a rendered bundle and of its BundleDeployment. Two Bundles may have one image in different formats."""

    deployment: str
    bundle: str
    digest: str
    options: InstallOptions
    chart: str = ""
    """The digest of the rendering of a chart."""


@dataclass(frozen=True)
class _Entry:
    content: RenderedBundle | BadBundle
    answers: Mapping[GroupKind, frozenset[str]]
    """The kinds that were looked up, and the versions that the cluster served."""
    removers: Mapping[GroupKind, str]
    """Kind -> the BundleDeployment that was removing it."""
    failed_groups: frozenset[str]
    remote_groups: frozenset[str]
    server_version: str


class RenderCache:
    """All rendered bundles. `store` holds the unpacked bundles."""

    def __init__(
        self,
        store: Store,
        rest_mapper: RestMapper,
        suite_namespaces: Collection[str],
        chart_content: Callable[[str], bytes | None] = lambda digest: None,
    ) -> None:
        """`chart_content` returns the rendering of a chart by its digest, as rukpak.charts.rendering packs it, if it is there."""
        self._chart_content = chart_content
        self._store = store
        self._rest_mapper = rest_mapper
        self._suite_namespaces = suite_namespaces
        self._remembered: OrderedDict[_Identity, _Entry] = OrderedDict()
        self._bodies: OrderedDict[_Identity, Bodies] = OrderedDict()
        self._bytes = 0
        self._missing: dict[str, set[str]] = {}
        """The Bundles whose content is not in the store, by BundleDeployment."""
        # One at a time: threads share one processor, and reading a bundle takes many times its size in memory.
        self._render_limit = asyncio.Semaphore(1)

    async def rendered(
        self, bundle: str, deployment: str, digest: str, options: InstallOptions, chart: str = ""
    ) -> Content:
        """The content of this digest as the Bundle of this name, with these options, for this cluster as it is now. `chart`: the
        digest of its rendering, if it is a chart."""
        identity = _Identity(deployment, bundle, digest, options, chart)
        known = self._remembered.get(identity)
        if known is not None and self._is_current(known):
            self._remembered.move_to_end(identity)
            return known.content
        return await self._render(identity)

    async def bodies(self, content: RenderedBundle, deployment: str) -> Bodies:
        """The objects as JSON. Raises KeyError if the content is missing, damaged, or cannot be read now."""
        identity = _Identity(deployment, content.bundle, content.content, content.options, content.chart)
        if identity not in self._bodies:
            await self._render(identity)
        self._bodies.move_to_end(identity)
        return self._bodies[identity]

    def take_missing(self, deployment: str) -> frozenset[str]:
        """The Bundles whose content was missing or damaged when it was read for the BundleDeployment, since the last call."""
        return frozenset(self._missing.pop(deployment, ()))

    def forget(self, deployment: str) -> None:
        """Forget a BundleDeployment that is deleted."""
        self.drop_bodies(deployment)
        self._missing.pop(deployment, None)

    def drop_bodies(self, deployment: str) -> None:
        """Free the memory of a BundleDeployment that has nothing to apply."""
        for identity in [identity for identity in self._bodies if identity.deployment == deployment]:
            self._bytes -= _size(self._bodies.pop(identity))

    def _is_current(self, known: _Entry) -> bool:
        return (
            known.failed_groups == self._rest_mapper.failed_groups
            and known.remote_groups == self._rest_mapper.remote_groups
            and known.server_version == self._rest_mapper.server_version
            and all(
                self._rest_mapper.versions(kind) == versions
                and self._rest_mapper.remover(kind) == known.removers.get(kind, "")
                for kind, versions in known.answers.items()
            )
        )

    async def _render(self, identity: _Identity) -> Content:
        served = self._rest_mapper.recorded_lookups()
        failed, version = self._rest_mapper.failed_groups, self._rest_mapper.server_version
        cluster_info = ClusterInfo(served, failed, version, self._suite_namespaces, served.removers)
        remote = self._rest_mapper.remote_groups
        chart = self._chart_content(identity.chart) if identity.chart else None
        if identity.chart and chart is None:
            self._remembered.pop(identity, None)
            return UnrenderedChart()
        mapper = self._rest_mapper
        render_work = _RenderWork(self._store, identity, cluster_info, remote, mapper.scopes(), mapper.plural, chart)
        async with self._render_limit:
            content, bodies = await asyncio.to_thread(render_work)
        if isinstance(content, MissingContent):
            self._missing.setdefault(identity.deployment, set()).add(identity.bundle)
            return content
        if isinstance(content, Waiting):
            return content
        self._remembered[identity] = _Entry(content, served.answers, served.removers, failed, remote, version)
        while len(self._remembered) > MAX_RENDERED_BUNDLES:
            self._remembered.popitem(last=False)
        if bodies:
            self._keep(identity, bodies)
        return content

    def _keep(self, identity: _Identity, bodies: Bodies) -> None:
        old = self._bodies.pop(identity, {})
        self._bodies[identity] = bodies
        self._bytes += _size(bodies) - _size(old)
        while self._bytes > MAX_BODIES_BYTES and len(self._bodies) > 1:
            self._bytes -= _size(self._bodies.popitem(last=False)[1])


def _size(bodies: Bodies) -> int:
    return sum(len(body) for body in bodies.values())


@dataclass(frozen=True)
class _RenderWork:
    """Reads, renders and checks one bundle, in a thread."""

    store: Store
    identity: _Identity
    cluster_info: ClusterInfo
    remote_groups: Collection[str]
    scopes: Scopes
    plural_of: Callable[[GroupKind], str]
    chart: bytes | None = None
    """The rendering of a chart."""

    def __call__(self) -> tuple[RenderedBundle | BadBundle | MissingContent | Waiting, dict[ObjectKey, bytes]]:
        if self.chart is not None:
            return self._rendered_chart(self.chart)
        try:
            content = load(self.store, self.identity.digest)
        except Waiting as error:
            return error, {}  # it may exist: it is not fetched again
        if content is None:
            return MissingContent(), {}
        return self._made(lambda: self._prepared(content, self.identity.options))

    def _rendered_chart(self, chart: bytes) -> tuple[RenderedBundle | BadBundle, dict[ObjectKey, bytes]]:
        """The rendering of a chart: a plain bundle, to which the values have been applied."""

        def prepare() -> tuple[RenderedBundle, dict[ObjectKey, bytes]]:
            rendering = unpacked(chart)
            options = replace(self.identity.options, config_json=NO_CONFIG)
            rendered, bodies = self._prepared(rendering.bundle, options, rendering.changing)
            return replace(rendered, warnings=(*rendered.warnings, *_changing_warning(rendered))), bodies

        return self._made(prepare)

    def _made(
        self, prepare: Callable[[], tuple[RenderedBundle, dict[ObjectKey, bytes]]]
    ) -> tuple[RenderedBundle | BadBundle, dict[ObjectKey, bytes]]:
        try:
            return prepare()
        except BadBundle as error:
            return error, {}
        except BAD_INPUT_ERRORS as error:
            return BadBundle(REASON, f"the bundle cannot be rendered: {type(error).__name__}: {error}"), {}

    def _prepared(
        self, content: Bundle, options: InstallOptions, changing: Changing | None = None
    ) -> tuple[RenderedBundle, dict[ObjectKey, bytes]]:
        made = installation(content, options, self.identity.deployment, self.cluster_info, self.scopes)
        ready = made.ready
        bodies = {item.key: orjson.dumps(item.body, option=orjson.OPT_SORT_KEYS) for item in ready.manifests}
        kept = _by_placed_key(changing or {}, made.namespace)
        rendered = self._rendered(made.namespace, made.warnings, ready, bodies, kept)
        rendered = replace(rendered, endpoints=made.endpoints, operator_condition=made.operator_condition)
        permissions = needed_permissions(ready.manifests, rendered.secret_keys, self.plural_of)
        return replace(rendered, permissions=permissions), bodies

    def _rendered(
        self, namespace: str, warnings: tuple[str, ...], ready: Preflight, bodies: Bodies, changing: Changing
    ) -> RenderedBundle:
        install_phases = [
            InstallPhase(
                phase.name,
                tuple(_item(each, bodies[each.key], changing.get(each.key, ())) for each in phase.manifests),
            )
            for phase in phases(ready.manifests)
        ]
        included = tuple(_namespace_item(item) for item in ready.manifests if item.key[:2] == NAMESPACE)
        required = self._required_namespaces(namespace) - {item.name for item in included}
        names = external_namespaces(
            ready.manifests, self.identity.options.watch_namespaces, self.cluster_info.suite_namespaces
        )
        external = tuple(RenderedNamespace(name, is_in_bundle=False) for name in names if name not in required)
        if external:
            first = install_phases.pop(0).objects if included else ()
            items = tuple(
                RenderedObject(ObjectKey(*NAMESPACE, "", item.name), "v1", EXTERNAL_NAMESPACE_DIGEST)
                for item in external
            )
            install_phases.insert(0, InstallPhase(NAMESPACES, (*first, *items)))
        assert isinstance(self.cluster_info.served, RecordedLookups)
        answers = self.cluster_info.served.answers
        return RenderedBundle(
            bundle=self.identity.bundle,
            content=self.identity.digest,
            namespace=namespace,
            phases=tuple(install_phases),
            options=self.identity.options,
            namespaces=(*included, *external),
            required_namespaces=required,
            warnings=warnings,
            left_out=ready.left_out,
            missing_kinds=ready.missing,
            too_old=ready.too_old,
            faults=ready.faults,
            unsupported=ready.unsupported,
            absent_kinds=frozenset(kind for kind, versions in answers.items() if ready.missing or not versions),
            chart=self.identity.chart,
            unreachable_groups=frozenset(self._unreachable_groups(answers)),
        )

    def _unreachable_groups(self, answers: Mapping[GroupKind, frozenset[str]]) -> Iterator[str]:
        for (group, _), versions in answers.items():
            if group in self.cluster_info.failed_groups or (group in self.remote_groups and not versions):
                yield group

    def _required_namespaces(self, namespace: str) -> frozenset[str]:
        """The Namespaces that spec names, if they have to exist."""
        options = self.identity.options
        return frozenset((namespace, *options.watch_namespaces)) - {""} if options.must_exist else frozenset()


def _item(manifest: BundleObject, body: bytes, changing: tuple[Path, ...] = ()) -> RenderedObject:
    versions = versions_of(manifest.body) if manifest.key[:2] == CRD else NO_VERSIONS
    if changing:  # the digest is that of a body that is the same each time
        body = orjson.dumps(stable(manifest.body, changing), option=orjson.OPT_SORT_KEYS)
    digest = hashlib.sha256(body).hexdigest()[:16]
    return RenderedObject(manifest.key, manifest.api_version, digest, versions, changing=changing)


def _changing_warning(rendered: RenderedBundle) -> Iterator[str]:
    names = [f"{item.key} ({list_names(map(shown, item.changing))})" for item in rendered.objects() if item.changing]
    if names:
        text = "the chart gives other values each time it is rendered, and objects that exist keep theirs"
        yield f"{text}: {list_names(names, '; ')}"


def _by_placed_key(changing: Changing, namespace: str) -> Changing:
    """The changing values by the key of the object in the cluster: one without a namespace gets the install namespace, or has
    none."""
    placed = {key._replace(namespace=namespace): paths for key, paths in changing.items() if not key.namespace}
    return {**placed, **changing}


def _namespace_item(manifest: BundleObject) -> RenderedNamespace:
    metadata = manifest.body["metadata"]
    return RenderedNamespace(manifest.name, dict(metadata.get("labels") or {}), dict(metadata.get("annotations") or {}))
