"""The content of a Bundle as it is to be installed on this cluster: keys and digests, without the bodies of the objects.

Made by rukpak.bundledeployment.render_cache, part of the World. Values only. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from olmkit.errors import OlmError
from rukpak.format.objects import ObjectKey


@dataclass(frozen=True)
class RenderedObject:
    """An object as rendered, without its body."""

    key: ObjectKey
    api_version: str
    digest: str
    """Hash of the body; two renders with equal digests need no write in between."""
    storage: str = ""
    """Of a CRD: the version that objects are stored in."""


@dataclass(frozen=True)
class RenderedNamespace:
    """What a bundle wants of a Namespace."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    is_in_bundle: bool = True
    """It is an object of the bundle. Else the bundle only writes into it: it is joined where it is, and never made."""


@dataclass(frozen=True)
class InstallPhase:
    """Objects that are applied together; `name` is for people."""

    name: str
    objects: tuple[RenderedObject, ...]


@dataclass(frozen=True)
class RenderedBundle:
    """A bundle as it is to be installed on this cluster."""

    bundle: str
    """Name of the Bundle."""
    content: str
    """Digest of its content."""
    namespace: str
    phases: tuple[InstallPhase, ...]
    namespaces: tuple[RenderedNamespace, ...] = ()
    warnings: tuple[str, ...] = ()
    left_out: tuple[ObjectKey, ...] = ()
    """Objects whose kind the cluster lacks and that may be missing; not in the stages."""
    missing_kinds: tuple[str, ...] = ()
    """Kinds that the cluster lacks and that must be there first, for people."""
    faults: tuple[str, ...] = ()
    """Why it can never be installed as it is."""
    unsupported: tuple[str, ...] = ()
    """Those of the faults that hold on every cluster."""
    absent_kinds: frozenset[tuple[str, str]] = frozenset()
    """Group-kinds that it asked for and that the cluster lacks."""
    unreachable_groups: frozenset[str] = frozenset()
    """Groups that it asked about and whose API server is away."""

    def objects(self) -> Iterable[RenderedObject]:
        """All objects in order."""
        return (item for stage in self.phases for item in stage.objects)

    @cached_property
    def external_namespaces(self) -> frozenset[str]:
        """Namespaces that it only writes into."""
        return frozenset(item.name for item in self.namespaces if not item.is_in_bundle)


@dataclass(frozen=True)
class MissingContent:
    """Content that is not on this machine."""


Content = RenderedBundle | MissingContent | OlmError
