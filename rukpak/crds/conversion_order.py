"""In which order an upgrade changes the storage version and the conversion of a CustomResourceDefinition.

Pods of the version that is installed convert only what they know, and nobody converts at a new place before the new pods run. So
what the installed version needs stays as it is until they do, where that is possible; what it cannot prevent is said.

    on the cluster         the bundle                       until the new webhook can be called
    any                    another storage version          custom resources are stored in the old one
    a webhook              a webhook at another place       the old webhook converts
    no webhook             a webhook, no version more       nobody converts, as before
    no webhook             a webhook, and more versions     the new webhook: without one, clients of a new version would read and
                                                            write fields of an old one

A version that the bundle adds is served at once: pods that do not find it may never become ready.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from olmkit.api.customresourcedefinitions import NO_WEBHOOK, Conversion, CustomResourceDefinition, conversion_of
from rukpak.format.objects import mapping, mappings


class Versions(NamedTuple):
    """The versions that a bundle has of a CustomResourceDefinition, and their conversion."""

    names: tuple[str, ...] = ()
    served: tuple[str, ...] = ()
    storage: str = ""
    conversion: Conversion = NO_WEBHOOK


class Held(NamedTuple):
    """The parts of the CustomResourceDefinition on the cluster that stay; as a truth value, whether there are any."""

    storage: str = ""
    """The version in which custom resources are stored; empty: that of the bundle."""
    conversion: Conversion | None = None
    """The conversion between them; None: as the bundle has it."""

    def __bool__(self) -> bool:
        """Report whether anything stays."""
        return bool(self.storage) or self.conversion is not None


def versions_of(definition: Mapping[str, Any]) -> Versions:
    """Those of a CustomResourceDefinition of a bundle."""
    found = tuple(mappings(mapping(definition.get("spec")).get("versions")))
    names, served, stored = (
        tuple(str(version.get("name", "")) for version in found if use is None or version.get(use))
        for use in (None, "served", "storage")
    )
    return Versions(names, served, stored[0] if stored else "", conversion_of(definition))


NO_VERSIONS, NOTHING_HELD = Versions(), Held()


def held_of(live: CustomResourceDefinition, wanted: Versions) -> Held:
    """The parts that stay until the webhook of the bundle can be called; none if it has no webhook."""
    if not wanted.conversion.is_webhook:
        return NOTHING_HELD
    storage = live.storage_version if live.storage_version != wanted.storage else ""
    is_kept = live.conversion.is_webhook or set(wanted.served) <= set(live.served_versions)
    is_other = live.conversion != wanted.conversion
    return Held(storage if storage in wanted.names else "", live.conversion if is_other and is_kept else None)


def interruption(live: CustomResourceDefinition, wanted: Versions, *, is_awaited: bool) -> str:
    """Name the requests that fail during the upgrade, as a sentence; empty if there are none. `is_awaited`: whether the webhook
    of the bundle is waited for, so that something can stay."""
    new = wanted.conversion
    if not new.is_webhook:
        return ""
    held = held_of(live, wanted) if is_awaited else NOTHING_HELD
    requests = f"requests for custom resources of {live.name} that have to be converted"
    if held.conversion is not None:
        old = held.conversion
        if not new.service or (old.namespace, old.service) != (new.namespace, new.service):
            return ""
        return (
            f"{requests} may fail while the pods behind {new} are replaced, unless both versions of them serve the old and "
            f"the new path or port: {old.endpoint} -> {new.endpoint}"
        )
    is_moved = live.storage_version not in ("", wanted.storage) and not held.storage
    if is_moved or (live.conversion != new and live.converted_versions):
        return f"{requests} fail until {new} answers"
    return ""
