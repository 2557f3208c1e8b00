"""The contents of a bundle before it is installed: permissions by risk, definitions, objects, webhooks, images.

`contents_of` is for a bundle that was read, `package_contents` for a version of a package, from its summary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from olmctl.diff.permissions import permissions
from olmctl.diff.risks import RiskGroup, by_risk
from olmctl.questions.bundle_summaries import (
    CatalogBundle,
    bundle_of,
    bundle_summary,
    bundles_of,
    stated_note,
)
from olmctl.questions.errors import NothingFound, QuestionError
from olmctl.questions.offered_versions import without_prefix
from olmctl.questions.packages import PackageEntry
from olmctl.questions.session import Session
from olmctl.terminal import clean
from rukpak.format import BadBundle, Bundle, RegistryBundle
from rukpak.format.objects import BundleObject, mapping, mappings
from rukpak.render.endpoints import ADMISSION_GROUP, CRD
from rukpak.render.install_modes import ALL, OWN, SINGLE
from rukpak.render.namespaces import default_namespace, install_namespace
from rukpak.render.refusals import applicable
from rukpak.render.renderer import RenderOptions, render
from rukpak.render.requirements import required_kinds

WATCHED = "watched-namespace"
"""Stands for a namespace that a person has to choose."""


@dataclass(frozen=True)
class BundleContents:
    """The things that a bundle brings, as it is rendered without options."""

    namespace: str
    """The namespace that it is installed into."""
    watched: tuple[str, ...]
    """The namespaces that it watches; ("",) is all."""
    risks: tuple[RiskGroup, ...]
    definitions: tuple[str, ...]
    """The names of its CustomResourceDefinitions."""
    objects: Mapping[str, int]
    """The number of objects of each kind, such as `Deployment.apps`."""
    webhooks: tuple[str, ...]
    """Sentences: `ValidatingWebhookConfiguration x: create, update things.example.com`."""
    images: tuple[str, ...]
    required: tuple[str, ...]
    """The kinds that the cluster has to serve."""


@dataclass(frozen=True)
class PackageContents:
    """The contents of one version of a package."""

    bundle: CatalogBundle
    contents: BundleContents
    note: str = ""
    """That the image was not read; "" if it was."""


async def package_contents(session: Session, entry: PackageEntry, version: str) -> PackageContents:
    """The contents of that version in the catalog of `entry`. Raises ApiError, QuestionError, BadBundle."""
    found = [each for each in await bundles_of(session, entry.name, entry.catalog) if each.catalog == entry.catalog]
    version = without_prefix(version)
    bundle = next((each for each in found if each.version == version), None)
    if bundle is None:
        raise NothingFound(
            f"package {entry.name} has no version {clean(version)} in {entry.catalog}: see olm graph {entry.name}"
        )
    summary = await bundle_summary(session, bundle)
    try:
        contents = contents_of(bundle_of(summary), entry.name)
    except BadBundle as error:
        raise QuestionError(f"{bundle.name} cannot be installed: {clean(error.message)}") from error
    return PackageContents(bundle, contents, stated_note(bundle.name, summary))


def contents_of(bundle: Bundle, name: str) -> BundleContents:
    """The contents of a bundle; `name` is that of what has none. Raises BadBundle."""
    registry = bundle if isinstance(bundle, RegistryBundle) else None
    namespace = install_namespace(registry)[0] if registry is not None else default_namespace(name)
    watched = _watched(registry, namespace)
    objects, _ = applicable(bundle, render(bundle, RenderOptions(namespace, watched or None)))
    counts = Counter(f"{item.kind}.{item.group}" if item.group else item.kind for item in objects)
    return BundleContents(
        namespace=namespace,
        watched=watched,
        risks=tuple(by_risk(permissions(objects))),
        definitions=tuple(sorted(item.name for item in objects if item.key[:2] == CRD)),
        objects=dict(sorted(counts.items())),
        webhooks=tuple(text for item in objects for text in _webhooks(item)),
        images=tuple(sorted({image for item in objects for image in _images(item)})),
        required=tuple(_required(registry)) if registry is not None else (),
    )


def _watched(bundle: RegistryBundle | None, namespace: str) -> tuple[str, ...]:
    """The namespaces to watch: all if the bundle can, else its own, else one that stands for any other."""
    if bundle is None:
        return ()
    modes = bundle.install_modes
    if ALL in modes or OWN in modes:
        return ("",) if ALL in modes else (namespace,)
    return (WATCHED,) if SINGLE in modes else (WATCHED, f"{WATCHED}-2")


def _webhooks(item: BundleObject) -> Iterator[str]:
    if item.group != ADMISSION_GROUP:
        return
    for webhook in mappings(item.body.get("webhooks")):
        rules = [_rule(rule) for rule in mappings(webhook.get("rules"))]
        yield f"{item.kind} {item.name}: {'; '.join(rules) or 'nothing'}"


def _rule(rule: Mapping[str, object]) -> str:
    def texts(name: str) -> list[str]:
        value = rule.get(name)
        return [str(each) for each in value] if isinstance(value, list) else []

    groups = [group for group in texts("apiGroups")]
    resources = [f"{resource}.{group}" if group else resource for group in groups for resource in texts("resources")]
    return f"{', '.join(each.lower() for each in texts('operations'))} {', '.join(resources)}"


def _images(item: BundleObject) -> Iterator[str]:
    pod = mapping(mapping(mapping(item.body.get("spec")).get("template")).get("spec"))
    containers: Sequence[Mapping[str, object]] = [
        each for name in ("initContainers", "containers") for each in mappings(pod.get(name))
    ]
    yield from (str(each["image"]) for each in containers if each.get("image"))


def _required(bundle: RegistryBundle) -> Iterator[str]:
    for (group, version, kind), _ in required_kinds(bundle):
        yield f"{kind}.{version}.{group}" if group else f"{kind}.{version}"
