"""The Operators of the cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from console.page import Answer, BadInput, Page, PageRequest
from console.pages.setup_help import on_suite
from console.recent import Recent
from console.routes import Route, Watch
from console.views import operators as view
from console.views.description import description
from console.views.inputs import ExtensionProblem
from console.views.operators import OperatorRow, OperatorsQuery, OperatorsView, operator_row, operators_view
from console.views.parts import ALL, Note
from olmctl.questions.catalogd import CatalogReadError, read_catalog
from olmctl.questions.operator_state import part, text_at
from olmctl.questions.operators import OperatorList, all_operators
from olmkit.api import bundledeployments, clusterextensions, operators
from olmkit.api.meta import Object

MAX_KEPT_BUNDLES = 2_000
MAX_CONCURRENT_READS = 8
MAX_KEPT_ROWS = 5_000
_ROWS: dict[tuple[object, ...], OperatorRow] = {}
"""Rows by the uid and the version of their objects. Whoever gets a row has read that version of the object."""
_VIEWS: Recent[OperatorsView] = Recent(16)
"""The last values of live pages, which sessions share that have received the same objects."""


@dataclass(frozen=True)
class BundleWords:
    """The words of a catalog about a bundle: its install modes, its name for people, its publisher."""

    modes: tuple[str, ...] = ()
    title: str = ""
    provider: str = ""


@dataclass
class _KnownBundles:
    """The words about installed bundles, by catalog and image, which every catalog publishes."""

    found: dict[tuple[str, str], BundleWords] = field(default_factory=dict)
    revision: int = 0
    """Grows when something is learned."""

    def put(self, key: tuple[str, str], words: BundleWords) -> None:
        """Keep the words about a bundle."""
        if len(self.found) >= MAX_KEPT_BUNDLES:
            self.found.clear()
        self.found[key] = words
        self.revision += 1


_BUNDLES = _KnownBundles()


def read_query(request: PageRequest) -> OperatorsQuery:
    """The query of the URL. Raises BadInput."""
    query = request.query
    word = " ".join(query.one("q").split())
    if len(word) > view.MAX_QUERY_LENGTH:
        raise BadInput("q", f"it has more than {view.MAX_QUERY_LENGTH} characters")
    is_all = query.one("page") == ALL
    return OperatorsQuery(
        word,
        query.choice("state", view.STATES),
        query.choice("sort", view.SORTS),
        1 if is_all else query.number("page", 1, 1, 100_000),
        is_all,
        request.namespace or "",
    )


@on_suite
async def show(request: PageRequest) -> Answer:
    """The page."""
    query = read_query(request)
    found = await all_operators(request.session)
    key, made_of = _made_of(query, found)
    value = _VIEWS.find(key, made_of) if request.is_live else None
    if value is None:
        modes = await install_modes(request, found.operators)
        notes = [Note("info", "", f"{each}.") for each in found.warnings]
        value = operators_view(query, found.operators, found.unowned, modes, notes, _rows_with(found.problems))
        if request.is_live:
            _VIEWS.put(key, made_of, value)
    return Page("operators.html", value, "Operators", "Operators", scripts=("grid.js",), is_shared=request.is_live)


def _made_of(query: OperatorsQuery, found: OperatorList) -> tuple[Hashable, Sequence[object]]:
    """All that the page depends on: what is compared by its value, and the objects."""
    left = [each.deployment for each in found.unowned]
    problems = tuple(sorted(found.problems.items()))
    return (query, found.warnings, _BUNDLES.revision, len(left), problems), (*found.operators, *left)


async def install_modes(request: PageRequest, found: Sequence[Object]) -> dict[str, tuple[str, ...]]:
    """The install modes of the installed bundles by the name of the Operator, as far as they are known."""
    return {name: words.modes for name, words in (await bundle_words(request, found)).items() if words.modes}


async def bundle_words(request: PageRequest, found: Sequence[Object]) -> dict[str, BundleWords]:
    """The words about the installed bundles by the name of the Operator, as far as they are known."""
    limit = asyncio.Semaphore(MAX_CONCURRENT_READS)
    wanted = {str(each["metadata"]["name"]): (each, key) for each in found if all(key := _bundle(each))}
    if not request.is_live:
        unknown = [each for each, key in wanted.values() if key not in _BUNDLES.found]
        await asyncio.gather(*(_read_words(request, each, limit) for each in unknown))
    return {name: _BUNDLES.found[key] for name, (_, key) in wanted.items() if key in _BUNDLES.found}


def _bundle(operator: Object) -> tuple[str, str]:
    """The catalog and the image of the bundle that is installed; "" for what is not known."""
    installed = part(operator, "status", "installed")
    if not isinstance(installed, dict) or not installed.get("name"):
        return "", ""
    return text_at(installed, "catalog"), text_at(operator, "status", "installedBundleResource")


async def _read_words(request: PageRequest, operator: Object, limit: asyncio.Semaphore) -> None:
    """Read the words about one, if they can be read."""
    package, bundle = text_at(operator, "spec", "packageName"), text_at(operator, "status", "installed", "name")
    key = _bundle(operator)
    query = {"schema": "olm.bundle", "package": package, "name": bundle}
    try:
        async with limit:
            blob = await read_catalog(request.session, key[0], "api/v1/metas", query)
    except CatalogReadError:
        return
    described = await asyncio.to_thread(description, blob)
    _BUNDLES.put(key, BundleWords(described.install_modes, described.title, described.provider))


def _rows_with(problems: Mapping[str, ExtensionProblem]) -> Callable[[Object, Sequence[str], str], OperatorRow]:
    """The rows of Operators with these problems of ClusterExtensions, by the name of the Operator."""
    return lambda operator, modes, ns: _row(operator, modes, ns, problems.get(operator["metadata"]["name"]))


def _row(operator: Object, modes: Sequence[str], ns: str, problem: ExtensionProblem | None) -> OperatorRow:
    """The same as operator_row(), made once for all who see this version of the Operator."""
    metadata = operator["metadata"]
    key = metadata.get("uid"), metadata.get("resourceVersion"), tuple(modes), ns, problem
    found = _ROWS.get(key)
    if found is None:
        if len(_ROWS) >= MAX_KEPT_ROWS:
            _ROWS.clear()
        found = _ROWS[key] = operator_row(operator, modes, ns, problem)
    return found


_WATCHES = Watch(operators.KIND), Watch(bundledeployments.KIND), Watch(clusterextensions.KIND, is_optional=True)
ROUTES = (Route("GET", "/operators", show, _WATCHES),)
