"""The content of a Bundle as it is to be installed on this cluster: keys and digests, without the bodies of the objects.

Values only. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from olmkit.errors import OlmError
from rukpak.crd_safety.conversion_order import NO_VERSIONS, NOTHING_HELD, Held, Versions
from rukpak.format.objects import ObjectKey
from rukpak.render.endpoints import CertificateMode, Endpoint
from rukpak.render.install_options import InstallOptions


@dataclass(frozen=True)
class RenderedObject:
    """An object as rendered, without its body."""

    key: ObjectKey
    api_version: str
    digest: str
    """Hash of the body, in a World also of what is written into it of a certificate; between equal ones no write is needed."""
    versions: Versions = NO_VERSIONS
    """The versions of a CRD, and their conversion; empty for other kinds."""
    held: Held = NOTHING_HELD
    """The parts of a CRD that are applied as they are on the cluster."""
    is_deferred: bool = False
    """True if it is a CRD that is applied with its conversion webhook, in addition to the form of which something is held."""


@dataclass(frozen=True)
class RenderedNamespace:
    """A Namespace that a bundle contains or writes to."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    is_in_bundle: bool = True
    """True if it is an object of the bundle. Otherwise the bundle only writes to it: the BundleDeployment becomes a member of
    it if it exists, and never creates it."""


@dataclass(frozen=True)
class InstallPhase:
    """Objects that are applied together; `name` is for messages."""

    name: str
    objects: tuple[RenderedObject, ...]


@dataclass(frozen=True)
class RenderedBundle:
    """A bundle rendered for this cluster."""

    bundle: str
    """Name of the Bundle."""
    content: str
    """Digest of its content."""
    namespace: str
    phases: tuple[InstallPhase, ...]
    options: InstallOptions = field(default_factory=InstallOptions)
    """The options that the BundleDeployment asks for."""
    namespaces: tuple[RenderedNamespace, ...] = ()
    warnings: tuple[str, ...] = ()
    left_out: tuple[ObjectKey, ...] = ()
    """Objects whose kind the cluster does not serve and that are optional; not in the phases."""
    missing_kinds: tuple[str, ...] = ()
    """Kinds that the cluster has to serve first, for messages."""
    too_old: str = ""
    """That the cluster is too old for it, for messages; empty: it is not."""
    faults: tuple[str, ...] = ()
    """The reason why it can never be installed unchanged."""
    unsupported: tuple[str, ...] = ()
    """The part of the faults that hold on every cluster."""
    absent_kinds: frozenset[tuple[str, str]] = frozenset()
    """Group-kinds that it was checked against and that the cluster does not serve; while kinds are missing, all that it was
    checked against: they may be missing in one version only."""
    unreachable_groups: frozenset[str] = frozenset()
    """Groups that it was checked against and whose API server is unavailable, or does not show a kind yet."""
    endpoints: tuple[Endpoint, ...] = ()
    """Its Deployments that the API server calls."""

    @property
    def is_installable(self) -> bool:
        """True if nothing prevents its installation on this cluster, as far as that is known without the objects that exist."""
        return not (self.faults or self.missing_kinds or self.too_old)

    def objects(self) -> Iterable[RenderedObject]:
        """All rendered objects in order."""
        return (item for phase in self.phases for item in phase.objects)

    @cached_property
    def namespace_names(self) -> frozenset[str]:
        """Namespaces that it contains or writes to."""
        return frozenset(item.name for item in self.namespaces)

    @cached_property
    def keys(self) -> frozenset[ObjectKey]:
        """Of all objects: those that are rendered, and the Secrets that rukpak makes."""
        return frozenset(item.key for item in self.objects()) | self.secret_keys

    @cached_property
    def own_endpoints(self) -> tuple[Endpoint, ...]:
        """The endpoints whose certificates rukpak issues."""
        return tuple(endpoint for endpoint in self.endpoints if endpoint.certificates is CertificateMode.SELF)

    @cached_property
    def called_endpoints(self) -> tuple[Endpoint, ...]:
        """The endpoints that are waited for."""
        return tuple(endpoint for endpoint in self.endpoints if endpoint.is_awaited)

    @cached_property
    def awaited_keys(self) -> frozenset[ObjectKey]:
        """The objects that name those endpoints."""
        return frozenset(key for endpoint in self.called_endpoints for key in endpoint.clients)

    @cached_property
    def secret_keys(self) -> frozenset[ObjectKey]:
        """The Secrets with certificates that rukpak makes."""
        return frozenset(endpoint.secret_key for endpoint in self.own_endpoints)

    @cached_property
    def certified(self) -> Mapping[ObjectKey, Endpoint]:
        """The objects that get a part of such a certificate, with their endpoints."""
        return {key: one for one in self.own_endpoints for key in (*one.clients, one.deployment_key)}

    @cached_property
    def external_namespaces(self) -> frozenset[str]:
        """Namespaces that it only writes to."""
        return frozenset(item.name for item in self.namespaces if not item.is_in_bundle)


@dataclass(frozen=True)
class MissingContent:
    """Content that is not in the store."""


Content = RenderedBundle | MissingContent | OlmError
