"""A bundle's files as values: registry+v1 and plain+v0, read whole or refused with every fault. Used by all of rukpak. Pure."""

from rukpak.bundle.content import Bundle, PlainBundle, RegistryBundle, from_json, to_json
from rukpak.bundle.faults import BadBundle
from rukpak.bundle.files import read_plain, read_registry

__all__ = [
    "BadBundle",
    "Bundle",
    "PlainBundle",
    "RegistryBundle",
    "from_json",
    "read_plain",
    "read_registry",
    "to_json",
]
