"""The Catalog that a CatalogSource of OLM v0 becomes, or the reason why it becomes none. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from olmctl.migration.v0 import at, full_name, name_of, namespace_of, text, texts
from olmkit.api import catalogs
from olmkit.api.meta import Object
from olmkit.api.names import is_dns1123_subdomain
from olmkit.api.patterns import IMAGE_REFERENCE
from olmkit.gocompat.text import parse_duration

MAX_CATALOG_NAME = 63
UNREADABLE_INTERVAL = "15m"
"""The interval that OLM v0 uses instead of one that it cannot read."""
NEVER = "0s"
_TEMPLATE = "olm.catalogImageTemplate"


@dataclass(frozen=True)
class CatalogPlan:
    """The result for one CatalogSource."""

    source: str
    """namespace/name of the CatalogSource."""
    name: str = ""
    """The Catalog that takes its place; "" if none does."""
    manifest: Object | None = field(default=None, repr=False)
    """The Catalog to create; None if one exists, or if none can be created."""
    problem: str = ""
    notes: tuple[str, ...] = ()

    @property
    def image(self) -> str:
        """The image of the Catalog to create."""
        return text(self.manifest, "spec", "source", "image", "ref")


def plan_catalogs(
    sources: Iterable[Object], existing: Iterable[Object], chosen: Mapping[str, str]
) -> dict[str, CatalogPlan]:
    """namespace/name of each CatalogSource -> what becomes of it. `chosen`: the Catalogs that the user has named for some."""
    known = list(existing)
    images = {text(each, "spec", "source", "image", "ref"): name_of(each) for each in known}
    taken = {name_of(each) for each in known}
    plans: dict[str, CatalogPlan] = {}
    for source in sorted(sources, key=full_name):
        key = full_name(source)
        if key in chosen:
            plans[key] = CatalogPlan(key, chosen[key], notes=("the Catalog that you have named takes its place",))
            continue
        problem, image = _problem(source), text(source, "spec", "image")
        if problem:
            plans[key] = CatalogPlan(key, problem=problem)
        elif image in images:
            plans[key] = CatalogPlan(key, images[image], notes=("a Catalog of the same image takes its place",))
        else:
            name = _free_name(source, taken)
            taken.add(name)
            images[image] = name
            plans[key] = CatalogPlan(key, name, _manifest(source, name), notes=tuple(_notes(source)))
    return plans


def _problem(source: Object) -> str:
    kind, address, image = (text(source, "spec", name) for name in ("sourceType", "address", "image"))
    named = "have the content in an image, create a Catalog of it, and name it with --catalog"
    if kind in ("configmap", "internal"):
        where = text(source, "spec", "configMap")
        return f"its packages are in ConfigMap {where}, in a format that is no file-based catalog: {named}"
    if kind != "grpc":
        return f'its sourceType is "{kind}", which OLM v0 does not know'
    if address:
        return f"it is the address {address}, and a Catalog reads an image: {named}"
    if not image:
        return "it names neither an image nor an address"
    if not re.search(IMAGE_REFERENCE, image):
        return f"its image {image} is no valid reference"
    return ""


def _free_name(source: Object, taken: set[str]) -> str:
    """Its name, or with its namespace in front if that is taken, or too long."""
    name, long = name_of(source), f"{namespace_of(source)}-{name_of(source)}"
    for candidate in (name, long[:MAX_CATALOG_NAME].rstrip("-.")):
        if candidate not in taken and len(candidate) <= MAX_CATALOG_NAME and is_dns1123_subdomain(candidate):
            return candidate
    number = 2
    while (candidate := f"{long[: MAX_CATALOG_NAME - 4].rstrip('-.')}-{number}") in taken:
        number += 1
    return candidate


def _manifest(source: Object, name: str) -> Object:
    image: dict[str, Any] = {"ref": text(source, "spec", "image")}
    secrets = _secrets(source)
    if secrets:
        image["pullSecret"] = secrets[0]
    if "@" not in image["ref"]:
        image["pollInterval"] = _interval(source)
    spec: dict[str, Any] = {"source": {"type": "image", "image": image}}
    priority = at(source, "spec", "priority")
    if isinstance(priority, int) and priority:
        spec["priority"] = priority
    for field_name in ("displayName", "publisher"):
        if text(source, "spec", field_name):
            spec[field_name] = text(source, "spec", field_name)
    return {
        "apiVersion": catalogs.KIND.api_version,
        "kind": catalogs.KIND.kind,
        "metadata": {"name": name},
        "spec": spec,
    }


def _secrets(source: Object) -> list[str]:
    """The names of its pull secrets; operator-sdk writes an empty one."""
    return [each for each in texts(source, "spec", "secrets") if each]


def _interval(source: Object) -> str:
    """The interval of checks of the tag; OLM v0 checks it only if that is asked for."""
    poll = at(source, "spec", "updateStrategy", "registryPoll")
    if not isinstance(poll, Mapping):
        return NEVER
    interval = text(poll, "interval")
    try:
        parse_duration(interval)
    except ValueError:
        return UNREADABLE_INTERVAL
    return interval


def _notes(source: Object) -> Iterator[str]:
    secrets = _secrets(source)
    if secrets:
        yield (
            f"its pull secret {secrets[0]} has to be in the namespace of the suite: copy it there from namespace "
            f"{namespace_of(source)} first"
        )
    if secrets[1:]:
        yield f"a Catalog has one pull secret: {', '.join(secrets[1:])} is left out"
    if _TEMPLATE in (at(source, "metadata", "annotations") or {}):
        yield f"its image follows the version of Kubernetes ({_TEMPLATE}): a Catalog keeps the image of today"
    if at(source, "spec", "updateStrategy", "registryPoll") is None and "@" not in text(source, "spec", "image"):
        yield "OLM v0 does not check its tag, and neither does the Catalog: set pollInterval to have that"
    directory = text(source, "spec", "grpcPodConfig", "extractContent", "catalogDir")
    if directory:
        yield f"{directory} is not carried over: the label of the image names the directory of its files"
