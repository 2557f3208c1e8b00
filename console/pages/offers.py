"""The offer of a package for the form of an Operator: catalogs, channels, versions, install modes, and what would come.

What cannot be read is named, and the form works without it: the Package objects of the cluster have channels and versions too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson

from console.forms.operator_form import Mode, modes_of, suggestion
from console.page import NotThere, PageRequest
from console.pages.kind_reader import csv_parts
from console.preview_request import PreviewRequest, PreviewResult
from console.views.changes import Section
from console.views.install import ChannelOffer
from olmctl.questions.catalog_offers import offered_entries
from olmctl.questions.catalogd import CatalogReadError, read_catalog
from olmctl.questions.operator_state import part, text_at
from olmctl.questions.packages import PackageEntry
from olmctl.questions.session import Session
from olmkit.api import catalogs
from olmkit.api.meta import Object
from olmkit.api.package_annotations import VERSIONS_ANNOTATION
from olmkit.errors import ApiError
from operator_controller.resolve.documents.document_reader import InvalidDocument, read_package
from operator_controller.resolve.package.package_content import PackageContent, PackageTooLarge

MAX_DOCUMENTS: Final = 60
"""Documents of packages that one preview reads."""
SECONDS: Final = 2.0


@dataclass(frozen=True)
class Offer:
    """A package in one catalog."""

    package: str
    catalog: str
    catalogs: tuple[tuple[str, int], ...]
    channels: tuple[ChannelOffer, ...]
    default_channel: str
    content: PackageContent | None = None
    document: Object | None = None
    problem: str = ""
    modes: tuple[Mode, ...] = modes_of(None, "")
    suggested_namespace: str = ""
    version: str = ""
    """The version that the modes are of."""

    def newest(self, channel: str) -> str:
        """The newest version of a channel, "" for the default one."""
        name = channel or self.default_channel
        return next((each.versions[0] for each in self.channels if each.name == name and each.versions), "")


async def read_offer(session: Session, package: str, catalog: str, channel: str = "", version: str = "") -> Offer:
    """The offer of a package. Raises NotThere."""
    entries = await offered_entries(session, package)
    entry = next((each for each in entries if not catalog or each.catalog == catalog), None)
    if entry is None:
        names = ", ".join(each.catalog for each in entries)
        raise NotThere(f"Catalog {catalog} does not offer package {package}: {names} does.")
    priorities = await _priorities(session)
    known = tuple((each.catalog, priorities.get(each.catalog, 0)) for each in entries)
    default = text_at(entry.obj, "spec", "defaultChannel")
    offer = Offer(package, entry.catalog, known, _listed_channels(entry, default), default)
    try:
        document = await read_catalog(session, entry.catalog, "api/v1/resolution", {"package": package})
        content = read_package(document)
    except (CatalogReadError, InvalidDocument, PackageTooLarge) as error:
        return replace(offer, problem=f"Versions and install modes are not known: {error}")
    offer = replace(offer, channels=_channels(content, default), content=content, document=document)
    return await _with_modes(session, offer, version or offer.newest(channel))


async def _priorities(session: Session) -> dict[str, int]:
    try:
        found, _ = await session.client.list(catalogs.KIND)
    except ApiError:
        return {}
    return {each["metadata"]["name"]: part(each, "spec", "priority") or 0 for each in found}


def _listed_channels(entry: PackageEntry, default: str) -> tuple[ChannelOffer, ...]:
    names = [text_at(each, "name") for each in part(entry.obj, "spec", "channels") or ()]
    listed = text_at(entry.obj, "metadata", "annotations", VERSIONS_ANNOTATION).partition(" ")[0]
    versions = tuple(filter(None, listed.split(",")))
    return tuple(ChannelOffer(name, versions if name == default else (), name == default) for name in names)


def _channels(content: PackageContent, default: str) -> tuple[ChannelOffer, ...]:
    found = []
    for channel in content.channels:
        bundles = [content.bundles.get(entry.name) for entry in channel.entries]
        versions = sorted(
            {each.version for each in bundles if each is not None and each.version is not None}, reverse=True
        )
        found.append(ChannelOffer(channel.name, tuple(map(str, versions)), channel.name == default))
    return tuple(sorted(found, key=lambda each: (not each.is_default, each.name)))


async def _with_modes(session: Session, offer: Offer, version: str) -> Offer:
    bundles = offer.content.bundles.values() if offer.content is not None else ()
    bundle = next((each.name for each in bundles if each.version is not None and str(each.version) == version), "")
    try:
        annotations, owned, modes = await csv_parts(session, offer.catalog, offer.package, bundle)
    except CatalogReadError as error:
        return replace(offer, problem=f"Install modes are not known: {error}", version=version)
    # A catalog without the ClusterServiceVersion does not say what the bundle suggests.
    is_described = bool(annotations or owned or modes)
    suggested = suggestion(annotations, offer.package, await session.system_namespace()) if is_described else ""
    return replace(offer, modes=modes_of(modes, version), suggested_namespace=suggested, version=version)


# --- what would be installed


@dataclass(frozen=True)
class Resolved:
    """The bundles that an Operator would resolve to, as a section of a page."""

    section: Section
    is_late: bool = False
    """True if its time ran out: the page asks again."""
    refusal: str = ""
    """The reason why nothing would be installed; "" if something would, or if it is not known."""


async def preview(request: PageRequest, offer: Offer, operator: Object, installed: Mapping[str, str]) -> Resolved:
    """The bundles that the Operator would resolve to, as `olm resolve` says it. `installed`: versions by package."""
    spec = operator["spec"]
    try:
        documents = await asyncio.wait_for(_documents(request.session, offer, installed), SECONDS)
    except TimeoutError:
        return _unknown("catalogd takes its time", is_late=True)
    except (CatalogReadError, ApiError) as error:
        return _unknown(str(error))
    if request.previewer is None:
        return _unknown("")
    version, channel = spec.get("version", ""), spec.get("channel", "")
    asked = PreviewRequest(offer.catalog, offer.package, version, channel, dict(installed), documents)
    result = await request.previewer.preview(asked)
    return _unknown(result.problem, is_late=result.is_late) if result.problem else resolved(result, installed)


_TITLE: Final = "What would be installed"


def _unknown(why: str, *, is_late: bool = False) -> Resolved:
    then = "This page asks again." if is_late else "The page of the Operator says it afterwards."
    return Resolved(Section(_TITLE, (f"Not computed{f': {why}' if why else ''}. {then}",)), is_late)


def resolved(result: PreviewResult, installed: Mapping[str, str]) -> Resolved:
    """The section about the bundles of a resolution that are not installed yet."""
    if result.refusal:
        return Resolved(Section(_TITLE, (result.refusal,)), refusal=result.refusal)
    new = [each for each in result.bundles if installed.get(each.package) != each.version]
    rows = tuple((f"{each.package} {each.version}", each.catalog, "; ".join(each.because)[:500]) for each in new)
    lines = () if rows else ("Nothing: it is installed already.",)
    return Resolved(Section(_TITLE, lines, columns=("Bundle", "Catalog", "Because"), rows=rows))


async def _documents(session: Session, offer: Offer, installed: Mapping[str, str]) -> dict[str, Any]:
    """The documents of the package, of those that it may require, and of those that run, of its catalog."""
    if offer.document is None:
        raise CatalogReadError(offer.problem)
    found: dict[str, Any] = {offer.package: offer.document}
    pending = [offer.document]
    while pending and len(found) < MAX_DOCUMENTS:
        for other in await _required_documents(session, offer.catalog, pending.pop()):
            if (name := text_at(other, "package")) and name not in found:
                found[name] = other
                pending.append(other)
    for package in installed:
        if package not in found and len(found) < MAX_DOCUMENTS:
            found.update((package, each) for each in await _queried(session, offer.catalog, "package", package))
    return found


async def _required_documents(session: Session, catalog: str, document: Object) -> list[Object]:
    """The documents of the packages that a package may require, by name or by a kind."""
    asked = [("package", name) for name in _required(document)] + [
        ("provides", kind) for kind in _required_kinds(document)
    ]
    return [each for key, value in asked for each in await _queried(session, catalog, key, value)]


async def _queried(session: Session, catalog: str, key: str, value: str) -> list[Object]:
    """The document that a query finds; none if there is none, or if there are several."""
    try:
        answer = await read_catalog(session, catalog, "api/v1/resolution", {key: value})
    except (CatalogReadError, ApiError):
        return []
    return [answer] if answer else []


def _properties(document: Object, kind: str) -> list[Mapping[str, Any]]:
    """The values of the properties of one type, of all bundles of a document."""
    text = orjson.dumps(document)
    if kind.encode() not in text:
        return []
    found: list[Mapping[str, Any]] = []
    pending: list[Any] = [document]
    while pending:
        each = pending.pop()
        if isinstance(each, dict):
            if each.get("type") == kind and isinstance(each.get("value"), dict):
                found.append(each["value"])
            pending += each.values()
        elif isinstance(each, list):
            pending += each
    return found


def _required(document: Object) -> list[str]:
    names = (each.get("packageName") for each in _properties(document, "olm.package.required"))
    return sorted({name for name in names if isinstance(name, str)})


def _required_kinds(document: Object) -> list[str]:
    found = _properties(document, "olm.gvk.required")
    return sorted({f"{each.get('group')}/{each.get('kind')}" for each in found})[:10]
