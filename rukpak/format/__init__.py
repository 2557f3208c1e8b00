"""The files of a registry+v1 or plain+v0 bundle as values, or every error in them. Pure."""

from rukpak.format.bundle import Bundle, PlainBundle, RegistryBundle, from_json, to_json
from rukpak.format.errors import BadBundle
from rukpak.format.files import read_plain, read_registry

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
