"""The catalog: cards of packages, and of the kinds of instances that installed Operators offer, with filters. Pure.

The whole state is in the URL, so a view is a function of what is offered, what is installed and the query.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

from console.links import page_url
from console.views.fit import Cluster, kinds_in, scope, shortcomings
from console.views.inputs import PackageEntry
from console.views.parts import Badge, Note, Pager, Tile, joined, paged, plural, tile
from console.views.states import needs_attention, state_words, upgrade_waits
from olmctl.questions.operator_state import available_version, installed, text_at
from olmkit.api.meta import Kind, Object

PAGE_SIZE = 48
MAX_FACET_VALUES = 40
"""Values of one facet that are offered; the most frequent ones."""
MAX_QUERY_LENGTH = 200
OPERATORS, INSTANCES = "operators", "instances"
INSTALLED, WAITS, FAILED, DEPRECATED = "installed", "upgrade", "attention", "deprecated"
WORKS, LACKS = "yes", "no"
EVERYWHERE, SOME = "all", "some"
FACETS = ("works", "type", "state", "modes", "category", "capability", "provider", "catalog")
SORTS = {"": "Best match", "name": "Name", "provider": "Provider", "created": "Newest version"}
_TITLES = {
    "works": "This cluster",
    "type": "Type",
    "state": "State",
    "modes": "Namespaces",
    "category": "Category",
    "capability": "Capability",
    "provider": "Provider",
}
_LABELS = {
    ("works", WORKS): "Works on this cluster",
    ("works", LACKS): "Something is missing",
    ("modes", EVERYWHERE): "Works in all namespaces",
    ("modes", SOME): "Can be limited to some",
    ("type", OPERATORS): "Operators",
    ("type", INSTANCES): "Instance types",
    ("state", INSTALLED): "Installed",
    ("state", WAITS): "Upgrade waits",
    ("state", FAILED): "Needs attention",
    ("state", DEPRECATED): "Deprecated",
}
_CAPABILITIES = ("Basic Install", "Seamless Upgrades", "Full Lifecycle", "Deep Insights", "Auto Pilot")


@dataclass(frozen=True)
class CatalogQuery:
    """The query of the URL. `chosen` are the values of each facet that are ticked."""

    q: str = ""
    chosen: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sort: str = ""
    page: int = 1
    is_all: bool = False
    ns: str = ""

    def href(self, *, page: str = "", without: tuple[str, str] = ("", ""), q: str | None = None) -> str:
        """The URL of the same query on another page, without one of its filters, or for other words."""
        pairs = [("q", self.q if q is None else q)]
        pairs += [(key, value) for key in FACETS for value in self.chosen.get(key, ()) if (key, value) != without]
        pairs += [("sort", self.sort), ("ns", self.ns), ("page", page)]
        text = urlencode([(key, value) for key, value in pairs if value])
        return f"/catalog?{text}" if text else "/catalog"


@dataclass(frozen=True)
class FacetValue:
    """One value of a facet, with the number of cards that it would show."""

    value: str
    label: str
    count: int
    is_chosen: bool


@dataclass(frozen=True)
class Facet:
    """A filter with its values."""

    key: str
    title: str
    values: tuple[FacetValue, ...]


@dataclass(frozen=True)
class Chip:
    """A filter that is set, and the URL without it."""

    text: str
    href: str


@dataclass(frozen=True)
class Card:
    """A package, or a kind of instances."""

    id: str
    href: str
    title: str
    by: str
    description: str
    version: str
    tile: Tile
    badges: tuple[Badge, ...] = ()
    scope: str = ""
    missing: str = ""
    """The requirements that the cluster does not meet."""
    created: str = field(default="", repr=False)
    facets: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    words: str = field(default="", repr=False)
    provided: frozenset[str] = field(default=frozenset(), repr=False)
    """The names of the kinds that a package provides, in small letters."""
    rank: int = field(default=0, repr=False)


@dataclass(frozen=True)
class CatalogView:
    """The page."""

    summary: str
    query: CatalogQuery
    facets: tuple[Facet, ...]
    chips: tuple[Chip, ...]
    notes: tuple[Note, ...]
    cards: tuple[Card, ...]
    shown: str
    pager: Pager
    empty: str
    sorts: Mapping[str, str] = field(default_factory=lambda: SORTS)


@dataclass(frozen=True)
class InstanceType:
    """A kind that an installed Operator provides."""

    kind: Kind
    title: str
    operator: str
    package: str
    catalog: str
    is_global: bool = True
    namespaces: tuple[str, ...] = ()
    description: str = ""


UNKNOWN = Cluster(is_known=False)


def catalog_view(  # noqa: PLR0913 what the page is made from
    query: CatalogQuery,
    entries: Sequence[PackageEntry],
    operators: Mapping[str, Sequence[Object]],
    types: Sequence[InstanceType],
    notes: Sequence[Note] = (),
    nothing: str = "",
    matched: Sequence[PackageEntry] = (),
    hint: str = "",
    cluster: Cluster = UNKNOWN,
) -> CatalogView:
    """The page. `operators` are by package; `nothing` says why there are no packages at all. `matched` are the entries that the
    words of the search find, the best first, and `hint` what to search for instead."""
    offering = cluster.with_offers({each.name: each.summary for each in entries})
    packages = [package_card(each, operators.get(each.name, ()), query.ns, offering) for each in entries]
    cards = [*packages, *(instance_card(each, query.ns) for each in types)]
    found, near = _matching(cards, matched, query.q)
    wanted = [each for each in found if _has_all(each, query.chosen)]
    ordered = _sorted(wanted, query.sort)
    shown, pager = paged(ordered, PAGE_SIZE, query.page, query.href, is_all=query.is_all)
    catalogs = len({each.catalog for each in entries})
    empty = "" if ordered else _empty(query, entries, nothing, hint)
    return CatalogView(
        summary=f"{plural(len(entries), 'package')} from {plural(catalogs, 'catalog')}"
        + (f", and {plural(len(types), 'kind')} of instances that you can create{_place(query.ns)}." if types else "."),
        query=query,
        facets=_facets(found, query),
        chips=_chips(query),
        notes=tuple(notes),
        cards=shown,
        shown=f"{pager.total:,} shown"
        + (f": nothing has {query.q}, these have {joined(near)}" if near and ordered else ""),
        pager=pager,
        empty=empty,
    )


def _place(ns: str) -> str:
    return f" in namespace {ns}" if ns else ""


def package_card(entry: PackageEntry, operators: Sequence[Object], ns: str = "", cluster: Cluster = UNKNOWN) -> Card:
    """The card of a package of one catalog."""
    own = [each for each in operators if text_at(each, "status", "installed", "catalog") in ("", entry.catalog)]
    badges, states = _state_badges(own)
    if entry.deprecation:
        badges, states = [*badges, Badge("warn", "Deprecated", "alert")], [*states, DEPRECATED]
    title = text_at(entry.summary, "displayName") or entry.name
    provider = text_at(entry.summary, "provider")
    capability = text_at(entry.summary, "capability")
    modes, missing = entry.texts("installModes"), shortcomings(entry.summary, cluster)
    kinds = _provided(entry)
    if missing:
        badges = [*badges, Badge("warn", "Does not work here", "alert")]
    return Card(
        id=_card_id(entry),
        href=page_url("catalog", entry.catalog, entry.name, ns=ns),
        title=title,
        by=provider or f"{entry.name} of catalog {entry.catalog}",
        description=entry.description,
        version=entry.latest,
        tile=tile(entry.name, catalog=entry.catalog, package=entry.name, has_icon=bool(entry.summary.get("icon"))),
        badges=tuple(badges),
        scope=scope(modes),
        missing=_missing(missing or ()),
        created=text_at(entry.summary, "createdOn"),
        facets={
            "works": () if missing is None else (LACKS if missing else WORKS,),
            "type": (OPERATORS,),
            "state": tuple(states),
            "modes": tuple(_modes(modes)),
            "category": tuple(entry.texts("categories")),
            "capability": (capability,) if capability else (),
            "provider": (provider,) if provider else (),
            "catalog": (entry.catalog,),
        },
        words=" ".join((entry.name, title, *entry.texts("keywords"), *kinds)),
        provided=frozenset(each.casefold() for each in kinds),
    )


def _card_id(entry: PackageEntry) -> str:
    """Another one for each package of each catalog, and for each kind: only those of packages have a colon after a catalog."""
    return f"{entry.catalog}:{entry.name}"


def _provided(entry: PackageEntry) -> list[str]:
    """The names of the kinds that it provides."""
    return [kind for _, _, kind in kinds_in(entry.summary, "kinds")]


def _modes(modes: Sequence[str]) -> Iterable[str]:
    if "AllNamespaces" in modes:
        yield EVERYWHERE
    if set(modes) - {"AllNamespaces"}:
        yield SOME


def _missing(texts: Sequence[str]) -> str:
    return f"This cluster lacks {joined(texts, 3)}." if texts else ""


def _state_badges(own: Sequence[Object]) -> tuple[list[Badge], list[str]]:
    """The marks of what is installed of a package, and the values of the facet."""
    badges: list[Badge] = []
    states: list[str] = []
    if not own:
        return badges, states
    states.append(INSTALLED)
    waiting = next((version for each in own if upgrade_waits(each) and (version := available_version(each))), "")
    troubled = [each for each in own if needs_attention(each)]
    if troubled:
        states.append(FAILED)
        badges.append(Badge("bad", state_words(troubled[0]), "alert"))
    elif not waiting:
        is_there = any(installed(each) for each in own)
        badges.append(Badge("ok", "Installed", "check") if is_there else Badge("info", "Installing", "clock"))
    if waiting:
        states.append(WAITS)
        badges.append(Badge("warn", f"{waiting} waits", "clock"))
    return badges, states


def instance_card(each: InstanceType, ns: str = "") -> Card:
    """The card of a kind of instances."""
    kind = each.kind
    return Card(
        id=f"{kind.plural}.{kind.group}",
        href=page_url("instances", kind.group, kind.version, kind.plural, ns=ns),
        title=each.title or kind.kind,
        by=f"{each.operator} · {kind.group}/{kind.version}",
        description=each.description or f"A {kind.kind}, which Operator {each.operator} provides.",
        version="",
        tile=tile(each.package, catalog=each.catalog, package=each.package, has_icon=bool(each.catalog)),
        badges=(Badge("type", "Instance type", "cube"),),
        scope="" if each.is_global else "one namespace",
        facets={"works": (WORKS,), "type": (INSTANCES,), "catalog": (each.catalog,) if each.catalog else ()},
        words=f"{kind.kind} {each.title} {kind.group} {kind.plural}",
    )


def _matching(cards: Sequence[Card], matched: Sequence[PackageEntry], word: str) -> tuple[list[Card], tuple[str, ...]]:
    """The cards that the words of the search find, the best first: packages as `olm search`, and by the kinds that they
    provide, and kinds by their name.

    If nothing has the word, those that have words which differ from it by one letter, and these words.
    """
    if not word:
        return list(cards), ()
    ids = {_card_id(each): number for number, each in enumerate(matched)}
    low = word.casefold()
    kinds = [each for each in cards if INSTANCES in each.facets["type"] and low in each.words.casefold()]
    found = sorted((each for each in cards if each.id in ids), key=lambda each: ids[each.id])
    found += [each for each in cards if each.id not in ids and any(low in kind for kind in each.provided)]
    if found or kinds:
        best = [each for each in kinds if low == each.title.casefold()]
        return [*best, *found, *(each for each in kinds if each not in best)], ()
    near = [(each, [other for other in _words(each) if is_one_letter_off(low, other)]) for each in cards]
    return [each for each, words in near if words], tuple(dict.fromkeys(other for _, words in near for other in words))


def _words(card: Card) -> Iterable[str]:
    for each in card.words.casefold().split():
        yield each
        if "-" in each:
            yield from each.split("-")


def is_one_letter_off(one: str, other: str) -> bool:
    """Report whether the words are equal but for one letter that is missing, added, changed, or swapped with the next."""
    if abs(len(one) - len(other)) > 1 or len(one) < 4:
        return False
    start = next(
        (at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right),
        min(len(one), len(other)),
    )
    rests = one[start:], other[start:]
    changed = rests[0][1:] == rests[1][1:]
    missing = rests[0] == rests[1][1:] or rests[0][1:] == rests[1]
    swapped = rests[0][:2] == rests[1][:2][::-1] and rests[0][2:] == rests[1][2:]
    return changed or missing or swapped


def _has_all(card: Card, chosen: Mapping[str, tuple[str, ...]], without: str = "") -> bool:
    """Report whether a card has one of the chosen values of each facet, but for one facet."""
    return all(
        not values or key == without or not set(values).isdisjoint(card.facets.get(key, ()))
        for key, values in chosen.items()
    )


def _sorted(cards: list[Card], order: str) -> list[Card]:
    if order == "name":
        return sorted(cards, key=lambda each: each.title.casefold())
    if order == "created":
        return sorted(cards, key=lambda each: each.created, reverse=True)
    if order == "provider":
        return sorted(cards, key=lambda each: (each.by.casefold(), each.title.casefold()))
    return cards


def _facets(found: Sequence[Card], query: CatalogQuery) -> tuple[Facet, ...]:
    made = []
    for key in FACETS:
        counts: dict[str, int] = dict.fromkeys(query.chosen.get(key, ()), 0)
        for card in found:
            if _has_all(card, query.chosen, key):
                for value in card.facets.get(key, ()):
                    counts[value] = counts.get(value, 0) + 1
        kept = sorted(counts, key=lambda value: (value not in query.chosen.get(key, ()), -counts[value]))[
            :MAX_FACET_VALUES
        ]
        values = tuple(
            FacetValue(each, _LABELS.get((key, each), each), counts[each], each in query.chosen.get(key, ()))
            for each in sorted(kept, key=lambda value: _order(key, value))
        )
        if values:
            made.append(Facet(key, _TITLES.get(key, "Catalog"), values))
    return tuple(made)


def _order(key: str, value: str) -> tuple[int, str]:
    fixed: Sequence[str] = _CAPABILITIES if key == "capability" else [each for name, each in _LABELS if name == key]
    return (fixed.index(value) if value in fixed else len(fixed), value.casefold())


def _chips(query: CatalogQuery) -> tuple[Chip, ...]:
    words = (Chip(f"“{query.q}”", query.href(q="")),) if query.q else ()
    return words + tuple(
        Chip(_LABELS.get((key, value), value), query.href(without=(key, value)))
        for key in FACETS
        for value in query.chosen.get(key, ())
    )


def _empty(query: CatalogQuery, entries: Sequence[PackageEntry], nothing: str, hint: str) -> str:
    """The reason why no card is shown."""
    if not entries:
        return f"No packages found: {nothing}." if nothing else "No packages found."
    if query.q and not any(query.chosen.values()):
        return f"No package matches {query.q}: {hint}"
    return "Nothing has all of these filters."
