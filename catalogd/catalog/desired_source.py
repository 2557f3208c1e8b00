"""The source that the spec of a Catalog requests: as DesiredSource for decisions, as Source for the job that reads it.

Also the interval between two checks of it. Does not read the cluster: the World has the Secrets and ConfigMaps that exist. Pure.
"""

from __future__ import annotations

import hashlib
from datetime import timedelta

from catalogd.catalog.world import DesiredSource, World
from olmkit.api.catalogs import Catalog, CatalogSource, Reason
from olmkit.api.content import SourceType
from olmkit.errors import Blocked
from olmkit.gocompat.text import parse_duration
from olmkit.sources.errors import BadReference
from olmkit.sources.oci.reference import parse
from olmkit.sources.source import GitSource, HttpSource, ImageSource, identity, without_query
from olmkit.sources.spec_source import (
    CONFIG_MAP,
    SECRET,
    InputReference,
    input_references,
    missing_input,
    secret_name,
    source_of,
)

DEFAULT_POLL_INTERVAL = timedelta(minutes=10)
MIN_POLL_INTERVAL = timedelta(seconds=1)
MAX_POLL_INTERVAL = timedelta(days=36_500)
"""A longer interval has the same effect, and the date of its end could not be represented."""
POLL_JITTER = 0.01
"""The largest fraction of the poll interval that is added to it."""


def desired_source(world: World) -> DesiredSource | Blocked | None:
    """The desired source; Blocked if the spec is invalid or refers to objects that do not exist; None if nothing is to be
    served."""
    if world.catalog is None or world.catalog.is_unavailable:
        return None
    source = world.catalog.spec.source
    try:
        for each in input_references(source):
            if world.input_versions.get(each) is None:
                raise missing_input(each, world.namespace)
        return _desired_source(world, source)
    except Blocked as error:
        return error


def _desired_source(world: World, spec: CatalogSource) -> DesiredSource:
    source = source_of(spec)
    match source:
        case ImageSource(ref):
            description = f'the catalog image "{ref}"'
        case GitSource(repository, reference):
            description = f"the catalog at {reference} of {without_query(repository)}"
        case HttpSource(url):
            description = f"the catalog archive {without_query(url)}"
        case _:
            names, versions = _config_maps(world, spec)
            return DesiredSource(names, "the catalog in ConfigMaps", config_map_versions=versions)
    return DesiredSource(
        identity(source), description, _credential_versions(world, spec), poll_interval(world.name, spec)
    )


def _credential_versions(world: World, spec: CatalogSource) -> str:
    """The versions of the Secrets that the source is read with. When one of them changes, a failed load is tried again."""
    secret = secret_name(spec)
    own = f"secret@{world.input_versions.get(InputReference(SECRET, secret))}" if secret else ""
    shared = f"pull-secret@{world.pull_secret_version}" if world.pull_secret_version else ""
    return " ".join(filter(None, (own, shared)))


def _config_maps(world: World, spec: CatalogSource) -> tuple[str, str]:
    """The names of the ConfigMaps with their paths, and their versions. The files are read when the job starts."""
    maps = sorted((each.config_map.name, each.path or "") for each in spec.config_maps or ())
    names = " ".join(f"{name}:{path}" for name, path in maps)
    return f"configMaps {names}", " ".join(
        str(world.input_versions.get(InputReference(CONFIG_MAP, name))) for name, _ in maps
    )


def poll_interval(name: str, source: CatalogSource) -> timedelta | None:
    """The time between two checks of the source of this Catalog; None for never. Raises Blocked for an invalid duration.

    The jitter depends on the name, so that Catalogs that were created together are not checked together.
    """
    match source.type:
        case SourceType.IMAGE if source.image is not None:
            is_fixed, text = _has_digest(source.image.ref), source.image.poll_interval
        case SourceType.GIT if source.git is not None:
            is_fixed, text = bool(source.git.ref.commit), source.git.poll_interval
        case SourceType.HTTP if source.http is not None:
            is_fixed, text = bool(source.http.checksum), source.http.poll_interval
        case _:  # ConfigMaps are watched
            return None
    if is_fixed:
        return None
    interval = DEFAULT_POLL_INTERVAL if text is None else min(_duration(text), MAX_POLL_INTERVAL)
    if interval <= timedelta(0):
        return None
    share = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") / 2**32
    return max(interval, MIN_POLL_INTERVAL) * (1 + POLL_JITTER * share)


def _duration(text: str) -> timedelta:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise Blocked(Reason.BLOCKED, str(error), [text]) from None


def _has_digest(ref: str) -> bool:
    try:
        return parse(ref).digest is not None
    except BadReference:
        return False


def references(catalog: Catalog, kind: str, name: str) -> bool:
    """Report whether the Catalog's source refers to that Secret or ConfigMap."""
    return InputReference(kind, name) in input_references(catalog.spec.source)
