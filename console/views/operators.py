"""The installed Operators as rows, and what is left without one. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

from console.links import page_url
from console.views.inputs import ExtensionProblem, LeftInstallation
from console.views.parts import Badge, Note, Pager, Tile, paged, plural, tile
from console.views.states import state_badge, upgrade_waits
from olmctl.questions.operator_state import (
    available_version,
    awaits_approval,
    condition,
    part,
    text_at,
)
from olmkit.api.meta import Object
from olmkit.api.ownership import is_dependency

PAGE_SIZE = 100
MAX_QUERY_LENGTH = 200
STATES = {
    "": "All",
    "attention": "Needs attention",
    "upgrade": "Upgrade waits",
    "not-ready": "Not ready",
    "paused": "Paused",
    "dependency": "Dependencies",
}
SORTS = {"": "Name", "state": "State", "age": "Age"}
EVERYWHERE = "All namespaces"


@dataclass(frozen=True)
class OperatorsQuery:
    """The query of the URL."""

    q: str = ""
    state: str = ""
    sort: str = ""
    page: int = 1
    is_all: bool = False
    ns: str = ""

    def href(self, *, state: str | None = None, page: str = "") -> str:
        """The URL of the same query in another state, or on another page."""
        pairs = [("q", self.q), ("state", self.state if state is None else state), ("sort", self.sort)]
        text = urlencode([(key, value) for key, value in (*pairs, ("ns", self.ns), ("page", page)) if value])
        return f"/operators?{text}" if text else "/operators"


@dataclass(frozen=True)
class Filter:
    """A state with the number of Operators in it."""

    text: str
    count: int
    href: str
    is_current: bool


@dataclass(frozen=True)
class OperatorRow:
    """One Operator."""

    name: str
    href: str
    package: str
    tile: Tile
    badge: Badge
    message: str
    version: str
    wanted: str
    available: str
    review: str
    """The page on which the version that waits is approved; "" if none waits for approval."""
    channel: str
    catalog: str
    scope: str
    kinds: tuple[tuple[str, str], ...]
    """The kinds that it provides, and the paths of their instances."""
    created: str
    states: frozenset[str] = field(default=frozenset(), repr=False)


@dataclass(frozen=True)
class OperatorsView:
    """The page."""

    summary: str
    query: OperatorsQuery
    filters: tuple[Filter, ...]
    rows: tuple[OperatorRow, ...]
    left: tuple[Note, ...]
    notes: tuple[Note, ...]
    empty: str
    is_none: bool
    pager: Pager


def operators_view(
    query: OperatorsQuery,
    operators: Sequence[Object],
    left: Sequence[LeftInstallation] = (),
    modes: Mapping[str, Sequence[str]] | None = None,
    notes: Sequence[Note] = (),
    row: Callable[[Object, Sequence[str], str], OperatorRow] | None = None,
) -> OperatorsView:
    """The page. `modes` are the install modes of the installed bundles by the name of the Operator, as far as they are known.
    `row` is operator_row(), or gives the same."""
    known, made = modes or {}, row or operator_row
    visible = [each for each in operators if is_in(each, query.ns, known.get(_name(each), ()))]
    rows = [made(each, known.get(_name(each), ()), query.ns) for each in sorted(visible, key=_name)]
    found = [each for each in rows if _has(each, query.q)]
    wanted = [each for each in found if not query.state or query.state in each.states]
    ordered = _sorted(wanted, query.sort)
    shown, pager = paged(ordered, PAGE_SIZE, query.page, query.href, is_all=query.is_all)
    attention = sum("attention" in each.states for each in rows)
    place = f"namespace {query.ns}" if query.ns else "all namespaces"
    return OperatorsView(
        summary=f"{_counted(rows)} in {place}. "
        + (
            f"{attention:,} {'needs' if attention == 1 else 'need'} attention."
            if attention
            else "None needs attention."
        ),
        query=query,
        filters=tuple(
            Filter(
                text, sum(not key or key in each.states for each in found), query.href(state=key), key == query.state
            )
            for key, text in STATES.items()
        ),
        rows=shown,
        left=tuple(Note("warn", "", each.sentence, "alert", command=each.command) for each in left if each.is_left),
        notes=tuple(notes),
        empty=_empty(query, rows) if not ordered else "",
        is_none=not operators,
        pager=pager,
    )


def _counted(rows: Sequence[OperatorRow]) -> str:
    """The number of Operators, and of those that have nothing installed."""
    missing = sum(not each.version for each in rows)
    text = plural(len(rows), "Operator")
    return f"{text}, {missing:,} of them not installed yet," if missing else text


def _empty(query: OperatorsQuery, rows: Sequence[OperatorRow]) -> str:
    if not rows:
        return f"No Operator is available in namespace {query.ns}." if query.ns else "No Operators found."
    return "No Operator matches."


def _name(operator: Object) -> str:
    return str(operator["metadata"]["name"])


def operator_row(
    operator: Object, modes: Sequence[str] = (), ns: str = "", problem: ExtensionProblem | None = None
) -> OperatorRow:
    """The row of an Operator. `problem`: that of its ClusterExtension."""
    name, package = _name(operator), text_at(operator, "spec", "packageName")
    catalog = text_at(operator, "status", "installed", "catalog")
    badge = state_badge(operator, problem)
    message = problem.message if problem else text_at(condition(operator, "Ready"), "message")
    is_silent = badge.kind == "ok" or (awaits_approval(operator) and not problem)
    return OperatorRow(
        name=name,
        href=page_url("operators", name, ns=ns),
        package=package,
        tile=tile(package or name, catalog=catalog, package=package, has_icon=bool(catalog)),
        badge=badge,
        message="" if is_silent else message,
        version=text_at(operator, "status", "installed", "version"),
        wanted=text_at(operator, "status", "wantedVersion"),
        available=available_version(operator),
        review=page_url("operators", name, "upgrade", ns=ns, version=available_version(operator))
        if awaits_approval(operator)
        else "",
        channel=text_at(operator, "status", "installed", "channel"),
        catalog=catalog,
        scope=scope_text(operator, modes),
        kinds=tuple(provided(operator, ns)),
        created=text_at(operator, "metadata", "creationTimestamp"),
        states=_states(operator, badge),
    )


def provided(operator: Object, ns: str = "") -> Iterable[tuple[str, str]]:
    """The kinds that an Operator provides, and the path of the page of its instances."""
    for each in part(operator, "status", "installed", "apis") or ():
        kind = text_at(each, "kind")
        if kind:
            yield text_at(each, "displayName") or kind, page_url("operators", _name(operator), "instances", ns=ns)


def _states(operator: Object, badge: Badge) -> frozenset[str]:
    found = {
        "attention": badge.kind == "bad",
        "upgrade": upgrade_waits(operator),
        "not-ready": text_at(condition(operator, "Ready"), "status") != "True",
        "paused": part(operator, "spec", "paused") is True,
        "dependency": is_dependency(operator),
    }
    return frozenset(each for each, is_true in found.items() if is_true)


def watched_namespaces(operator: Object, modes: Sequence[str] = ()) -> tuple[str, ...] | None:
    """The namespaces that an Operator is available in; None for all of them."""
    listed = part(operator, "spec", "install", "watchNamespaces")
    if isinstance(listed, list) and listed and "" not in listed:
        return tuple(str(each) for each in listed)
    if listed or not modes or "AllNamespaces" in modes:
        return None
    namespace = text_at(operator, "spec", "install", "namespace")
    return (namespace,) if namespace else (f"{text_at(operator, 'spec', 'packageName')}-system",)


def is_in(operator: Object, ns: str, modes: Sequence[str] = ()) -> bool:
    """Report whether an Operator is available in a namespace; "" is all namespaces, where each is shown."""
    if not ns:
        return True
    watched = watched_namespaces(operator, modes)
    return watched is None or ns in watched


def scope_text(operator: Object, modes: Sequence[str] = ()) -> str:
    """The namespaces that an Operator is available in, in words."""
    watched = watched_namespaces(operator, modes)
    if watched is None:
        return EVERYWHERE
    return ", ".join(watched[:3]) + (f" and {plural(len(watched) - 3, 'other')}" if len(watched) > 3 else "")


def _has(row: OperatorRow, word: str) -> bool:
    low = word.casefold()
    return not low or any(low in each.casefold() for each in (row.name, row.package, *(kind for kind, _ in row.kinds)))


def _sorted(rows: list[OperatorRow], order: str) -> list[OperatorRow]:
    if order == "state":
        ranks = {"bad": 0, "warn": 1, "info": 2}
        return sorted(rows, key=lambda each: (ranks.get(each.badge.kind, 3), each.name))
    if order == "age":
        return sorted(rows, key=lambda each: each.created, reverse=True)
    return rows
