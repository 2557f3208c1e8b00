"""One package of one catalog."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Sequence

from markupsafe import Markup

from console.access import Ask
from console.markdown import MAX_TEXT_LENGTH, render
from console.page import Answer, BadInput, NotThere, Page, PageRequest
from console.pages.cluster import read_cluster
from console.pages.kind_schemas import PENDING, read_kind_schema
from console.pages.previews import AGAIN_SECONDS
from console.pages.setup_help import on_suite
from console.routes import Handler, Route, Watch
from console.views.description import Description, ProvidedKind, description
from console.views.kind_schema import KindSchema
from console.views.package import (
    NoSuchVersion,
    PackageInput,
    PermissionRow,
    VersionRow,
    chosen_version,
    package_view,
    permission_rows,
    provided_kinds,
    version_rows,
)
from console.views.parts import Note
from olmctl.questions.bundle_contents import package_contents
from olmctl.questions.catalog_offers import offered_entries
from olmctl.questions.catalogd import CatalogReadError, read_catalog
from olmctl.questions.errors import QuestionError
from olmctl.questions.left_installations import left_installations, with_left
from olmctl.questions.operator_state import text_at
from olmctl.questions.packages import PackageEntry, installed_packages, package_objects, with_summary
from olmkit.api import operators
from olmkit.api.meta import Object
from olmkit.errors import ApiError, OlmError

TEMPLATE = "package.html"
SUMMARY_SECONDS = 3.0
"""The time that a page waits for catalogd to read a bundle."""
MAX_RENDERED = 64
"""Descriptions that are kept as HTML."""


@functools.lru_cache(MAX_RENDERED)
def _rendered(text: str) -> Markup:
    return render(text)


def tab(name: str) -> Handler:
    """The handler of one tab."""

    @on_suite
    async def show(request: PageRequest) -> Answer:
        return await _page(request, name)

    return show


async def _page(request: PageRequest, name: str) -> Answer:
    session = request.session
    catalog, package = request.path["catalog"], request.path["package"]
    (entry, *_), installed, left, everywhere, verdict = await asyncio.gather(
        offered_entries(session, package, catalog),
        installed_packages(session),
        left_installations(session),
        package_objects(session, package),
        request.access.may(Ask("create", operators.KIND)),
    )
    (entry, problem), document = await _read(request, entry)
    channel, version = request.query.one("channel"), request.query.one("version")
    own = with_left(installed, left).get(package, [])
    try:
        chosen = chosen_version(version_rows(entry, document, own), entry, channel, version)
        described, problem = await described_bundle(request, entry, chosen.bundle, problem)
        rows, text = await _permissions(request, name, entry, chosen.version)
        given = PackageInput(
            entry,
            document,
            described,
            own,
            (await read_cluster(request, set(installed)))[0],
            [each.catalog for each in everywhere if each.catalog != catalog],
            name,
            channel,
            version,
            request.namespace or "",
            "" if verdict else verdict.reason,
            await _about(described, entry),
            (Note("warn", "The catalog cannot be read.", problem, "alert"),) if problem else (),
            rows,
            text,
            *await _schema(request, name, entry, chosen, provided_kinds(described, document, chosen.bundle)),
        )
        value = package_view(given)
    except NoSuchVersion as error:
        raise NotThere(f"{error}.") from error
    is_pending = PENDING in (value.permissions_text, value.schema and value.schema.problem)
    return Page(TEMPLATE, value, value.title, "Catalog", again_seconds=AGAIN_SECONDS if is_pending else 0.0)


async def _read(request: PageRequest, entry: PackageEntry) -> tuple[tuple[PackageEntry, str], Object]:
    """The package with its summary, and its resolution document; {} if catalogd cannot be read."""
    summary = await with_summary(request.session, entry)
    try:
        found = await read_catalog(request.session, entry.catalog, "api/v1/resolution", {"package": entry.name})
    except CatalogReadError:
        return summary, {}
    return summary, found


async def described_bundle(
    request: PageRequest, entry: PackageEntry, bundle: str, problem: str = ""
) -> tuple[Description, str]:
    """The description of a bundle by its publisher, and why it cannot be read."""
    if not bundle or problem:
        return Description(), problem
    query = {"schema": "olm.bundle", "package": entry.name, "name": bundle}
    try:
        blob = await read_catalog(request.session, entry.catalog, "api/v1/metas", query)
    except CatalogReadError as error:
        return Description(), str(error)
    return await asyncio.to_thread(description, blob), ""


async def _permissions(
    request: PageRequest, tab_name: str, entry: PackageEntry, version: str
) -> tuple[tuple[PermissionRow, ...] | None, str]:
    """The permissions of a version, from the summary of its bundle; or None, and why they are not known, "" if its tab does not
    show them."""
    if tab_name not in ("", "permissions"):
        return None, ""
    try:
        async with asyncio.timeout(SUMMARY_SECONDS):
            found = await package_contents(request.session, entry, version)
    except TimeoutError:
        return None, PENDING
    except (ApiError, OlmError, QuestionError, CatalogReadError) as error:
        return None, f"It is not known: {error}"
    return permission_rows(found.contents.risks), found.note


async def _schema(
    request: PageRequest, tab_name: str, entry: PackageEntry, chosen: VersionRow, kinds: Sequence[ProvidedKind]
) -> tuple[str, KindSchema | None]:
    """The kind that the page of the kinds is asked for, and its fields. Raises BadInput."""
    asked = request.query.one("kind")
    if not asked or tab_name != "apis":
        return "", None
    kind = next((each for each in kinds if f"{each.group}/{each.kind}" == asked), None)
    if kind is None:
        raise BadInput("kind", f"{asked[:100]} is no kind that {chosen.version} provides")
    return asked, await read_kind_schema(request.session, entry, chosen.version, kind)


async def _about(described: Description, entry: PackageEntry) -> Markup:
    text = described.text or text_at(entry.obj, "spec", "description") or entry.description
    return await asyncio.to_thread(_rendered, text[: MAX_TEXT_LENGTH + 1])


_WATCHES = (Watch(operators.KIND),)
_PATH = "/catalog/{catalog}/{package}"
ROUTES = (
    Route("GET", _PATH, tab(""), _WATCHES),
    *(
        Route("GET", f"{_PATH}/{each}", tab(each), _WATCHES)
        for each in ("versions", "permissions", "requirements", "apis")
    ),
)
