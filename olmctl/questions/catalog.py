"""The packages that can be installed: which of them match a word, and what is installed of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from olmctl.questions.catalog_offers import no_packages_text
from olmctl.questions.errors import after
from olmctl.questions.left_installations import LeftInstallation, left_installations, with_left
from olmctl.questions.operator_state import text_at
from olmctl.questions.packages import PackageEntry, all_packages, installed_packages
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmkit.api.meta import Object
from operator_controller.resolve.explain.spec_hints import MAX_SUGGESTIONS, similar_names
from operator_controller.resolve.formatting import join_names


@dataclass(frozen=True)
class SearchResult:
    """The packages that match, the best first."""

    packages: tuple[PackageEntry, ...]
    problems: tuple[str, ...]
    """Sentences about the catalogs whose summaries cannot be read."""
    hint: str = ""
    """The advice if no package matches the word; "" if one does, and without a word."""
    operators: Mapping[str, Sequence[Object]] = field(default_factory=dict)
    """Package -> its Operators, and what is installed without one as if an Operator reported it."""
    left: tuple[LeftInstallation, ...] = ()
    """The installations without an Operator, of any package."""


async def search(session: Session, word: str = "") -> SearchResult:
    """The packages of all catalogs, or those that contain the word in their name, keywords or description. Raises ApiError."""
    entries, problems = await all_packages(session)
    found = tuple(matching(entries, word))
    with after(problems):
        if word and not found:
            hint = suggestion(word, {each.name for each in entries}) if entries else await no_packages_text(session)
            return SearchResult((), tuple(problems), hint)
        left = await left_installations(session)
        operators = with_left(await installed_packages(session), left)
    return SearchResult(found, tuple(problems), operators=operators, left=tuple(left))


def suggestion(word: str, names: Set[str]) -> str:
    """Suggest what to search for instead of a word that no package has: names that are similar, or contain a similar word."""
    words = similar_names(word, {part for name in names for part in name.split("-")})
    containing = sorted(name for name in names if not set(words).isdisjoint(name.split("-")))
    found = list(dict.fromkeys((*similar_names(word, names), *containing)))[:MAX_SUGGESTIONS]
    return clean(f"did you mean {join_names(found, 'or')}?") if found else "`olm search` lists all packages"


def matching(entries: Iterable[PackageEntry], word: str) -> list[PackageEntry]:
    """The packages that contain the word, the best first: by where it stands, then in the order given."""
    ranked = [(rank, entry) for entry in entries if (rank := _rank(entry, word.casefold())) is not None]
    return [entry for _, entry in sorted(ranked, key=lambda each: each[0])]


def _rank(entry: PackageEntry, word: str) -> int | None:
    """0 for the best match, None for none. Every package matches an empty word."""
    name, title = entry.name.casefold(), text_at(entry.summary, "displayName").casefold()
    if name == word or not word:
        return 0
    places = (
        (name.startswith(word) or title.startswith(word)),
        (word in name or word in title),
        any(word == each.casefold() for each in entry.texts("keywords")),
        any(word in each.casefold() for each in (*entry.texts("keywords"), *entry.texts("categories"))),
        word in text_at(entry.summary, "provider").casefold(),
        word in entry.description.casefold(),
    )
    return next((number for number, matches in enumerate(places, 1) if matches), None)


def installed_version(entry: PackageEntry, operators: Mapping[str, Sequence[Object]]) -> str:
    """The installed versions of the package from this catalog; "pending" for an Operator without one and without a catalog."""
    found = []
    for each in operators.get(entry.name, ()):
        catalog, version = (text_at(each, "status", "installed", key) for key in ("catalog", "version"))
        if catalog in (entry.catalog, ""):
            found.append(version or "pending")
    return ", ".join(found)


def package_value(entry: PackageEntry, operators: Mapping[str, Sequence[Object]]) -> Object:
    """The package for programs: its summary, and what is known without it."""
    known = {
        "latest": entry.latest,
        "installed": installed_version(entry, operators),
        "description": entry.description,
        "channels": [{"name": each} for each in entry.channels.split(",") if each],
        **entry.summary,
    }
    return {"name": entry.name, "catalog": entry.catalog, **{key: value for key, value in known.items() if value}}
