"""The kinds that the cluster serves now: those of API servers by discovery, custom ones by a watch on CustomResourceDefinitions.

A CRD that is created or deleted takes effect at once, without discovery. Discovery is repeated when the availability of an
aggregated API server changes, and periodically while one is unavailable.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator

from olmkit.api import customresourcedefinitions
from olmkit.api.customresourcedefinitions import CustomResourceDefinition, definition_of
from olmkit.api.meta import Kind
from olmkit.runtime.client import Client, Discovery, DiscoveryCache
from olmkit.runtime.informer import Change, Informer
from rukpak.bundledeployment.cluster.transforms import remote_of
from rukpak.render.scopes import Scopes

GroupKind = tuple[str, str]
Served = tuple[str, str, str]

NAMESPACES = Kind("", "v1", "Namespace", "namespaces")
CRDS = customresourcedefinitions.KIND
DISCOVERY_RETRY_SECONDS = 15.0
"""Seconds until discovery is repeated for groups that did not answer."""
API_SERVICES = Kind("apiregistration.k8s.io", "v1", "APIService", "apiservices")


Remover = Callable[[CustomResourceDefinition], str]
"""Returns the name of the BundleDeployment with which a CRD and all its custom resources are being removed; empty: none."""


class RestMapper:
    """The kinds that the cluster serves. `crds` and `api_services` have the transforms of
    rukpak.bundledeployment.cluster.transforms.

    A kind whose CRD is being removed is served no more to whoever would create objects of it: they would be deleted at once.
    """

    def __init__(self, client: Client, crds: Informer, api_services: Informer, remover: Remover = lambda _: "") -> None:
        self._client = client
        self._cache = DiscoveryCache(client)
        self._discovery = Discovery({}, {}, frozenset())
        self._remover = remover
        self._custom: dict[GroupKind, dict[str, CustomResourceDefinition]] = {}
        self._removed: set[GroupKind] = set()
        self._remote: dict[str, tuple[str, bool]] = {}
        self._discovered_at = 0.0
        self._expects_changes = False
        self.server_version = ""
        crds.subscribe(self._crd_changed)
        api_services.subscribe(self._api_service_changed)

    async def refresh(self) -> None:
        """Repeat discovery if something may have changed that is not watched. Raises ApiError."""
        is_due = time.monotonic() - self._discovered_at > DISCOVERY_RETRY_SECONDS
        if is_due and (self.failed_groups or self._expects_changes):
            self._discovered_at = time.monotonic()
            self._expects_changes = False
            self._cache.invalidate()
        if self._cache.current is None or not self.server_version:
            self.server_version = await self._client.version()
            self._discovery = await self._cache.get()
            self._discovered_at = time.monotonic()

    def expect_changes(self) -> None:
        """Something waits for what no watch reports: a kind of Kubernetes itself or of an API server that has just become
        available, or a newer version of Kubernetes. The next refresh repeats discovery, at most every few seconds."""
        self._expects_changes = True

    @property
    def remote_groups(self) -> frozenset[str]:
        """Groups of aggregated API servers."""
        return frozenset(group for group, _ in self._remote.values())

    @property
    def failed_groups(self) -> frozenset[str]:
        """Groups of aggregated API servers that are unavailable: their APIServices report it earlier than discovery."""
        unavailable = {group for group, answers in self._remote.values() if not answers}
        return frozenset(unavailable | (self._discovery.failed_groups & self.remote_groups))

    def kind_for(self, api_version: str, kind: str) -> Kind | None:
        """The kind as a manifest names it; None when exactly that is not served, or is being removed."""
        group, _, version = api_version.rpartition("/")
        custom = self._definition((group, kind))
        if custom is not None:
            return _kind(custom, version) if version in self._creatable(custom) else None
        return None if (group, kind) in self._removed else self._discovery.find(api_version, kind)

    def storage_kind(self, group_kind: GroupKind) -> Kind | None:
        """The kind in the version its objects are stored in, which needs no conversion; None when it is not served."""
        custom = self._definition(group_kind)
        if custom is not None:
            served = custom.served_versions
            version = custom.storage_version if custom.storage_version in served else served[0]
            return _kind(custom, version)
        return None if group_kind in self._removed else self._discovery.kinds.get(group_kind)

    def versions(self, group_kind: GroupKind) -> frozenset[str]:
        """All served versions of a kind; none while it is being removed."""
        custom = self._definition(group_kind)
        if custom is not None:
            return frozenset(self._creatable(custom))
        if group_kind in self._removed:
            return frozenset()
        return frozenset(
            version for group, version, kind in self._by_kind().get(group_kind, ()) if (group, kind) == group_kind
        )

    def remover(self, group_kind: GroupKind) -> str:
        """The BundleDeployment with which the CRD of the kind is being removed; empty if it is not."""
        custom = self._definition(group_kind)
        return self._remover(custom) if custom is not None else ""

    def _creatable(self, custom: CustomResourceDefinition) -> tuple[str, ...]:
        return () if self._remover(custom) else custom.served_versions

    def scopes(self) -> Scopes:
        """(group, kind) -> namespaced, of all kinds."""
        known = {group_kind: kind.namespaced for group_kind, kind in self._discovery.kinds.items()}
        custom = {group_kind: next(iter(named.values())).is_namespaced for group_kind, named in self._custom.items()}
        return {**known, **custom}

    def plural(self, group_kind: GroupKind) -> str:
        """The plural name of a kind; empty if it is not served."""
        known = self.storage_kind(group_kind)
        return known.plural if known is not None else ""

    def recorded_lookups(self) -> RecordedLookups:
        """A collection of all that is served that records its lookups."""
        return RecordedLookups(self)

    def served(self) -> Iterator[Served]:
        """(group, version, kind) of everything, also of what is being removed."""
        for served in self._discovery.served:
            group_kind = (served[0], served[2])
            if group_kind not in self._custom and group_kind not in self._removed:
                yield served
        for group, kind in list(self._custom):  # read by threads that render
            custom = self._definition((group, kind))
            yield from ((group, version, kind) for version in (custom.served_versions if custom is not None else ()))

    def api_versions(self) -> tuple[str, ...]:
        """group/version and group/version/Kind of everything, sorted."""
        found = set[str]()
        for group, version, kind in self.served():
            api_version = f"{group}/{version}" if group else version
            found |= {api_version, f"{api_version}/{kind}"}
        return tuple(sorted(found))

    def listable_kinds(self) -> list[Kind]:
        """All namespaced kinds whose objects can be listed, once each."""
        group_kinds = {(group, kind) for group, _, kind in self.served()}
        kinds = [kind for kind in map(self.storage_kind, sorted(group_kinds)) if kind is not None and kind.namespaced]
        listable = self._discovery.listable
        return [
            kind
            for kind in kinds
            if kind.group_kind in self._custom or (kind.group, kind.version, kind.kind) in listable
        ]

    def is_cluster_scoped(self, group_kind: GroupKind) -> bool:
        """Report whether objects of the kind are not in namespaces; also if the kind is not known."""
        known = self.storage_kind(group_kind)
        return known is None or not known.namespaced

    _index_of: Discovery | None = None
    _index: dict[GroupKind, list[Served]] = {}  # noqa: RUF012 replaced, never changed

    def _by_kind(self) -> dict[GroupKind, list[Served]]:
        if self._index_of is not self._discovery:
            index: dict[GroupKind, list[Served]] = {}
            for served in self._discovery.served:
                index.setdefault((served[0], served[2]), []).append(served)
            self._index, self._index_of = index, self._discovery
        return self._index

    def _definition(self, group_kind: GroupKind) -> CustomResourceDefinition | None:
        named = self._custom.get(group_kind)
        return next(iter(named.values())) if named else None

    def _crd_changed(self, change: Change) -> None:
        """Record the change of a CRD. Two CRDs may claim one kind; only the one whose names were accepted is served."""
        for obj, is_old in ((change.old, True), (change.new, False)):
            crd = definition_of(obj)
            if crd is None:
                continue
            group_kind, name = crd.group_kind, crd.name
            if is_old or not crd.is_served:
                self._drop(group_kind, name)
                if group_kind not in self._custom:
                    self._removed.add(group_kind)  # discovery is out of date
            else:
                self._custom.setdefault(group_kind, {})[name] = crd
                self._removed.discard(group_kind)

    def _drop(self, group_kind: GroupKind, name: str) -> None:
        named = self._custom.get(group_kind)
        if named and named.pop(name, None) and not named:
            del self._custom[group_kind]

    def _api_service_changed(self, change: Change) -> None:
        before, after = remote_of(change.old), remote_of(change.new)
        name = (change.new or change.old or {})["metadata"]["name"]
        if after is not None:
            self._remote[name] = after
        else:
            self._remote.pop(name, None)
        if before != after:
            self._cache.invalidate()


class RecordedLookups(Collection[Served]):
    """All that is served; `answers` has the versions of each kind that was looked up, `removers` who removes it, if it is being
    removed."""

    def __init__(self, kinds: RestMapper) -> None:
        self._kinds = kinds
        self.answers: dict[GroupKind, frozenset[str]] = {}
        self.removers: dict[GroupKind, str] = {}

    def __contains__(self, served: object) -> bool:
        assert isinstance(served, tuple)
        group, version, kind = served
        versions = self.answers.get((group, kind))
        if versions is None:
            versions = self.answers[group, kind] = self._kinds.versions((group, kind))
            if remover := self._kinds.remover((group, kind)):
                self.removers[group, kind] = remover
        return version in versions

    def __iter__(self) -> Iterator[Served]:
        return self._kinds.served()

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _kind(crd: CustomResourceDefinition, version: str) -> Kind:
    return Kind(crd.group, version, crd.kind, crd.plural, crd.is_namespaced)
