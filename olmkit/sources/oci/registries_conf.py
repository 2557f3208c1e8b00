"""registries.conf, version 2 (containers-registries.conf(5)): which registries an image is fetched from.

Read once per job. Supported: prefix (with `*.` for subdomains), location, insecure, blocked, mirror, mirror-by-digest-only,
pull-from-mirror. In addition, the prefix `*` matches every image. Short names are always those of Docker Hub:
unqualified-search-registries is ignored, because its result depends on which registry responds. Opens no connection.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from olmkit.errors import Blocked
from olmkit.sources.addresses import SourceAddresses
from olmkit.sources.credentials import Credentials
from olmkit.sources.errors import BadReference, SourceReason, quoted
from olmkit.sources.network import Endpoint, Network
from olmkit.sources.oci.reference import DOCKER_HUB, Reference, is_host

DOCKER_HUB_HOST = "registry-1.docker.io"
PullFrom = Literal["all", "digest-only", "tag-only"]


@dataclass(frozen=True)
class RegistryMirror:
    """One [[registry.mirror]]."""

    location: str
    insecure: bool
    pull_from: PullFrom


@dataclass(frozen=True)
class RegistryRule:
    """One [[registry]]; `location` is None where the prefix is a wildcard and no location is given."""

    prefix: str
    location: str | None
    insecure: bool = False
    blocked: bool = False
    mirrors: tuple[RegistryMirror, ...] = ()


@dataclass(frozen=True)
class Registries(Network):
    """The rules of registries.conf, and everything else that reaching a registry takes."""

    rules: tuple[RegistryRule, ...] = ()
    credentials: Credentials = field(default_factory=Credentials, repr=False)
    tokens: dict[object, str] = field(default_factory=dict, repr=False, compare=False)
    """Tokens that registries issued. image.py keeps them as long as this value lives, which is one job."""

    @classmethod
    def load(cls, path: Path | None, addresses: SourceAddresses | None = None) -> Registries:
        """Read the file; None means no rules. Raises Blocked(InvalidConfiguration), which names the file."""
        addresses = addresses or SourceAddresses()
        if path is None:
            return cls(addresses=addresses)
        try:
            return cls(parse(path.read_text()), addresses=addresses)
        except (OSError, ValueError) as error:
            text = error.strerror if isinstance(error, OSError) else str(error)
            words = f"{path} cannot be read: {text}"
            raise Blocked(SourceReason.INVALID_CONFIGURATION, words, [str(path)]) from error

    def endpoints(self, reference: Reference) -> tuple[Endpoint, ...]:
        """The endpoints to try, in order: mirrors, then the location. Raises BadReference when the registry is blocked."""
        name = f"{reference.registry}/{reference.repository}"
        rule = self._rule(name)
        if rule is None:
            return (_endpoint(name, insecure=False, configured=False),)
        if rule.blocked:
            text = f"registry {reference.registry} is blocked by registries.conf (prefix {quoted(rule.prefix)})"
            raise BadReference(SourceReason.REGISTRY_BLOCKED, text)
        pull_by = "digest-only" if reference.digest else "tag-only"
        mirrors = (
            _endpoint(_relocated(name, rule.prefix, mirror.location), insecure=mirror.insecure, configured=True)
            for mirror in rule.mirrors
            if mirror.pull_from in ("all", pull_by)
        )
        location = name if rule.location is None else _relocated(name, rule.prefix, rule.location)
        configured = rule.location is not None
        return (*mirrors, _endpoint(location, insecure=rule.insecure, configured=configured))

    def is_configured(self, host: str) -> bool:
        """Report whether registries.conf names this host (with port) as a location or a mirror. Redirects to it are allowed."""
        locations = {rule.location for rule in self.rules} | {m.location for rule in self.rules for m in rule.mirrors}
        return host in {location.partition("/")[0] for location in locations if location}

    def _rule(self, name: str) -> RegistryRule | None:
        """The longest prefix wins."""
        return max(
            (rule for rule in self.rules if _matches(name, rule.prefix)), key=lambda r: len(r.prefix), default=None
        )


def parse(text: str) -> tuple[RegistryRule, ...]:
    """The rules of a file. Raises ValueError, of which TOMLDecodeError is a subclass."""
    document = tomllib.loads(text)
    return tuple(_registry(table) for table in _tables(document, "registry"))


def _tables(table: Mapping[str, Any], key: str) -> Sequence[Mapping[str, Any]]:
    tables = table.get(key, [])
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise ValueError(f"{key} must be an array of tables")
    return tables


def _registry(table: Mapping[str, Any]) -> RegistryRule:
    location = _location(table)
    prefix = _string(table, "prefix") or location
    if not prefix:
        raise ValueError("a [[registry]] needs a prefix or a location")
    if location is None and not prefix.startswith("*"):
        location = _location({"location": prefix})
    by_digest = _flag(table, "mirror-by-digest-only")
    mirrors = tuple(_mirror(each, by_digest) for each in _tables(table, "mirror"))
    return RegistryRule(prefix, location, _flag(table, "insecure"), _flag(table, "blocked"), mirrors)


def _mirror(table: Mapping[str, Any], by_digest: bool) -> RegistryMirror:
    location = _location(table)
    if location is None:
        raise ValueError("a [[registry.mirror]] needs a location")
    pull = _string(table, "pull-from-mirror") or ("digest-only" if by_digest else "all")
    for known in ("all", "digest-only", "tag-only"):
        if pull == known:
            return RegistryMirror(location, _flag(table, "insecure"), known)
    raise ValueError(f"pull-from-mirror is all, digest-only or tag-only, not {quoted(pull)}")


def _location(table: Mapping[str, Any]) -> str | None:
    location = _string(table, "location")
    if location is not None and not is_host(location.partition("/")[0]):
        raise ValueError(f"{quoted(location)} is not a location: write host[:port][/path], without a scheme")
    return location


def _string(table: Mapping[str, Any], key: str) -> str | None:
    value = table.get(key)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{key} must be a string")
    return value.rstrip("/") if value else None


def _flag(table: Mapping[str, Any], key: str) -> bool:
    value = table.get(key, False)
    if not isinstance(value, bool):
        raise ValueError(f"{key} must be true or false")
    return value


def _matches(name: str, prefix: str) -> bool:
    if prefix == "*":
        return True
    if prefix.startswith("*."):
        host, _, _ = name.partition("/")
        return host.endswith(prefix[1:]) and host != prefix[1:]
    return name == prefix or name.startswith(f"{prefix}/")


def _relocated(name: str, prefix: str, location: str) -> str:
    """The name with its prefix replaced; a wildcard stands for the host."""
    if prefix.startswith("*"):
        return location + name[name.index("/") :]
    return location + name.removeprefix(prefix)


def _endpoint(name: str, *, insecure: bool, configured: bool) -> Endpoint:
    host, _, repository = name.partition("/")
    host = host.lower()
    return Endpoint(DOCKER_HUB_HOST if host == DOCKER_HUB else host, repository, insecure, configured)
