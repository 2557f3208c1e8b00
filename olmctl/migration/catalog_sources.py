"""The Catalog that a CatalogSource of OLM v0 becomes, or the reason why it becomes none. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from olmctl.migration.v0 import OlmV0
from olmctl.migration.values import at, full_name, name_of, namespace_of, text, texts
from olmkit.api import catalogs
from olmkit.api.meta import Object
from olmkit.api.names import is_dns1123_subdomain
from olmkit.api.patterns import IMAGE_REFERENCE, PACKAGE_NAME
from olmkit.gocompat.text import parse_duration

MAX_CATALOG_NAME = 63
UNREADABLE_INTERVAL = "15m"
"""The interval that OLM v0 uses instead of one that it cannot read."""
NEVER = "0s"
NARROW_PRIORITY = -(2**31)
"""The priority of a Catalog whose CatalogSource only its own namespace could use: any other Catalog counts before it."""
UPSTREAM_NAMESPACE, OPENSHIFT_NAMESPACE = "olm", "openshift-marketplace"
_OPENSHIFT_OLM_NAMESPACE = "openshift-operator-lifecycle-manager"
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


def plan_catalogs(found: OlmV0, chosen: Mapping[str, str]) -> dict[str, CatalogPlan]:
    """namespace/name of each CatalogSource -> what becomes of it. `chosen`: the Catalogs that the user has named for some."""
    taken = {name_of(each) for each in found.catalogs}
    shared = global_namespace(found)
    plans: dict[str, CatalogPlan] = {}
    new: list[Object] = []
    # A Catalog that offers everything takes the place of one for some packages, and not the other way round.
    for source in sorted(found.catalog_sources, key=lambda each: (namespace_of(each) != shared, full_name(each))):
        key = full_name(source)
        if key in chosen:
            plans[key] = CatalogPlan(key, chosen[key], notes=("the Catalog that you have named takes its place",))
            continue
        packages = None if namespace_of(source) == shared else _packages_from(found, source)
        problem = _problem(source) or ("" if packages is None else _narrow_problem(packages))
        used = _catalog_of([*found.catalogs, *new], text(source, "spec", "image"), packages)
        if problem:
            plans[key] = CatalogPlan(key, problem=problem)
        elif used:
            plans[key] = CatalogPlan(key, used, notes=("a Catalog of the same image takes its place",))
        else:
            name = _free_name(source, taken)
            taken.add(name)
            manifest = _manifest(source, name, packages)
            new.append(manifest)
            plans[key] = CatalogPlan(key, name, manifest, notes=tuple(_notes(source, packages)))
    return dict(sorted(plans.items()))


def global_namespace(found: OlmV0) -> str:
    """The namespace whose CatalogSources OLM v0 uses for all namespaces."""
    namespaces = {namespace_of(each) for each in (*found.catalog_sources, *found.versions)}
    return OPENSHIFT_NAMESPACE if namespaces & {OPENSHIFT_NAMESPACE, _OPENSHIFT_OLM_NAMESPACE} else UPSTREAM_NAMESPACE


def _packages_from(found: OlmV0, source: Object) -> list[str]:
    """The packages that its own namespace has installed from a CatalogSource."""
    place = (namespace_of(source), namespace_of(source), name_of(source))
    return sorted(
        {
            name
            for each in found.subscriptions
            if re.search(PACKAGE_NAME, name := text(each, "spec", "name"))
            and (namespace_of(each), text(each, "spec", "sourceNamespace"), text(each, "spec", "source")) == place
        }
    )


def _narrow_problem(packages: Sequence[str]) -> str:
    if not packages:
        return "only its own namespace can use it, and no Subscription there does: a Catalog is for the whole cluster"
    if len(packages) > catalogs.MAX_SELECTED_PACKAGES:
        return f"{len(packages)} packages are installed from it, and a Catalog lists at most {catalogs.MAX_SELECTED_PACKAGES}"
    return ""


def _catalog_of(known: Iterable[Object], image: str, packages: Sequence[str] | None) -> str:
    """The name of the Catalog of an image that offers these packages, None: all; "" if there is none."""
    for each in known:
        offered = texts(each, "spec", "packages")
        is_enough = not offered or (packages is not None and set(packages) <= set(offered))
        if image and text(each, "spec", "source", "image", "ref") == image and is_enough:
            return name_of(each)
    return ""


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


def _manifest(source: Object, name: str, packages: Sequence[str] | None) -> Object:
    image: dict[str, Any] = {"ref": text(source, "spec", "image")}
    secrets = _secrets(source)
    if secrets:
        image["pullSecret"] = secrets[0]
    if "@" not in image["ref"]:
        image["pollInterval"] = _interval(source)
    spec: dict[str, Any] = {"source": {"type": "image", "image": image}}
    priority = at(source, "spec", "priority")
    if packages is not None:
        spec |= {"priority": NARROW_PRIORITY, "packages": list(packages)}
    elif isinstance(priority, int) and priority:
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


def _notes(source: Object, packages: Sequence[str] | None) -> Iterator[str]:
    if packages is not None:
        yield (
            f"only its namespace can use it, and a Catalog is for the whole cluster: the Catalog offers {', '.join(packages)} "
            f"alone, and has the priority {NARROW_PRIORITY}, so that Operators of others are not upgraded from it"
        )
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
