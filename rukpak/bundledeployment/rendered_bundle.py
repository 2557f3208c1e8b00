"""The content of a Bundle as it is to be installed on this cluster: keys and digests, without the bodies of the objects.

Values only. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from olmkit.errors import OlmError
from rukpak.charts.rendering import Path
from rukpak.crds.conversion_order import NO_VERSIONS, NOTHING_HELD, Held, Versions
from rukpak.format.objects import ObjectKey
from rukpak.permissions.needed import NeededPermissions
from rukpak.render.endpoints import CertificateMode, Endpoint
from rukpak.render.install_options import InstallOptions


@dataclass(frozen=True)
class RenderedObject:
    """An object as rendered, without its body."""

    key: ObjectKey
    api_version: str
    digest: str
    """The hash of the body. In a World it includes the certificate data that is written into the body. If the hash is equal, no
    write is needed."""
    versions: Versions = NO_VERSIONS
    """The versions of a CRD, and their conversion; empty for other kinds."""
    held: Held = NOTHING_HELD
    """The parts of a CRD that are applied as they are on the cluster."""
    is_deferred: bool = False
    """True if it is a CRD that is applied with its conversion webhook, after it was applied in a form that holds parts of the
    cluster's CRD."""
    changing: tuple[Path, ...] = ()
    """The places of values that differ each time a chart is rendered. An object that exists keeps its values there."""


@dataclass(frozen=True)
class RenderedNamespace:
    """A Namespace that a bundle contains or writes to."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    is_in_bundle: bool = True
    """True if it is an object of the bundle. Otherwise the bundle only writes to it. The BundleDeployment becomes a member of the
    Namespace if it exists, and never creates it."""


@dataclass(frozen=True)
class InstallPhase:
    """Objects that are applied together; `name` is for messages."""

    name: str
    objects: tuple[RenderedObject, ...]


@dataclass(frozen=True)
class RenderedBundle:
    """A bundle rendered for this cluster."""

    bundle: str
    """The name of the Bundle."""
    content: str
    """The digest of its content."""
    namespace: str
    phases: tuple[InstallPhase, ...]
    options: InstallOptions = field(default_factory=InstallOptions)
    """The options that the BundleDeployment requests."""
    namespaces: tuple[RenderedNamespace, ...] = ()
    required_namespaces: frozenset[str] = frozenset()
    """The names of the Namespaces that have to exist and that it does not change: namespacePolicy is MustExist."""
    warnings: tuple[str, ...] = ()
    left_out: tuple[ObjectKey, ...] = ()
    """Optional objects whose kind the cluster does not serve. They are not in the phases."""
    missing_kinds: tuple[str, ...] = ()
    """Kinds that the cluster has to serve first, for messages."""
    too_old: str = ""
    """The text that the cluster is too old for the bundle, for messages; empty if it is not."""
    faults: tuple[str, ...] = ()
    """The reasons why the bundle can never be installed unchanged."""
    unsupported: tuple[str, ...] = ()
    """The faults that exist on every cluster."""
    absent_kinds: frozenset[tuple[str, str]] = frozenset()
    """Group-kinds that the bundle was checked against and that the cluster does not serve. While kinds are missing, all
    group-kinds that it was checked against, because a kind may be missing in one version only."""
    unreachable_groups: frozenset[str] = frozenset()
    """Groups that the bundle was checked against, whose API server is unavailable or does not show a kind yet."""
    endpoints: tuple[Endpoint, ...] = ()
    """Its Deployments that the API server calls."""
    operator_condition: ObjectKey | None = None
    """The key of its OperatorCondition, also while it is left out; None if it has none."""
    chart: str = ""
    """The digest of the rendering, if the content is a Helm chart."""

    permissions: NeededPermissions = field(default_factory=NeededPermissions)
    """The permissions that an account needs for it."""

    @property
    def is_installable(self) -> bool:
        """True if nothing prevents its installation on this cluster, as far as this is known without the existing objects."""
        return not (self.faults or self.missing_kinds or self.too_old)

    def objects(self) -> Iterable[RenderedObject]:
        """All rendered objects in order."""
        return (item for phase in self.phases for item in phase.objects)

    @cached_property
    def namespace_names(self) -> frozenset[str]:
        """The Namespaces that it contains or writes to."""
        return frozenset(item.name for item in self.namespaces)

    @cached_property
    def keys(self) -> frozenset[ObjectKey]:
        """The keys of all objects: the rendered objects, and the Secrets that rukpak makes."""
        return frozenset(item.key for item in self.objects()) | self.secret_keys

    @cached_property
    def own_endpoints(self) -> tuple[Endpoint, ...]:
        """The endpoints whose certificates rukpak issues."""
        return tuple(endpoint for endpoint in self.endpoints if endpoint.certificates is CertificateMode.SELF)

    @cached_property
    def called_endpoints(self) -> tuple[Endpoint, ...]:
        """The endpoints that the installation waits for."""
        return tuple(endpoint for endpoint in self.endpoints if endpoint.is_awaited)

    @cached_property
    def awaited_keys(self) -> frozenset[ObjectKey]:
        """The keys of the objects that name the called endpoints."""
        return frozenset(key for endpoint in self.called_endpoints for key in endpoint.clients)

    @cached_property
    def secret_keys(self) -> frozenset[ObjectKey]:
        """The Secrets with certificates that rukpak makes."""
        return frozenset(endpoint.secret_key for endpoint in self.own_endpoints)

    @cached_property
    def certified(self) -> Mapping[ObjectKey, Endpoint]:
        """The objects that get a part of a certificate from rukpak, with their endpoints."""
        return {key: one for one in self.own_endpoints for key in (*one.clients, one.deployment_key)}

    @cached_property
    def external_namespaces(self) -> frozenset[str]:
        """The Namespaces that it only writes to."""
        return frozenset(item.name for item in self.namespaces if not item.is_in_bundle)


@dataclass(frozen=True)
class MissingContent:
    """Content that is not in the store."""


@dataclass(frozen=True)
class UnrenderedChart:
    """A chart that helm has not rendered yet."""


Content = RenderedBundle | MissingContent | UnrenderedChart | OlmError
