"""The things that a version would bring, before it is installed: permissions by risk, definitions, objects, images.

They come from the summary that catalogd makes of a bundle. Never waits long: what is not there yet is said. Never writes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from console.views.changes import Notice, Section
from console.views.package import permission_texts
from olmctl.diff.objects import Change
from olmctl.diff.problem_groups import problem_groups
from olmctl.diff.risks import Risk, RiskGroup, by_risk
from olmctl.questions.bundle_contents import BundleContents, package_contents
from olmctl.questions.bundle_summaries import summaries_of
from olmctl.questions.catalog_offers import offered_entries
from olmctl.questions.difference import Difference, difference
from olmctl.questions.errors import QuestionError
from olmctl.questions.operator_state import text_at
from olmctl.questions.session import Session
from olmkit.api.meta import Object
from olmkit.errors import ApiError, Forbidden, OlmError

SECONDS: Final = 8.0
"""A summary that takes longer is asked for again by the next look at the page."""
MAX_LINES: Final = 300
MAX_COUNTS: Final = 5
"""Kinds whose objects are counted on the form."""
NOT_THERE: Final = "Permissions and CustomResourceDefinitions of this version are not known yet."
PENDING: Final = "No preview is there yet."
AGAIN_SECONDS: Final = 3.0
"""The time after which a page that waits for a preview is made again."""
_WORDS: Final = {
    Risk.CONTROL: "Can take control of the cluster",
    Risk.WRITES: "Changes the whole cluster",
    Risk.READS: "Reads the whole cluster",
    Risk.NAMESPACED: "Limited to namespaces",
}
T = TypeVar("T")


@dataclass(frozen=True)
class Preview:
    """The knowledge about a version. `is_known`: its permissions are."""

    sections: tuple[Section, ...] = ()
    notices: tuple[Notice, ...] = ()
    is_known: bool = False
    is_pending: bool = False
    """True if it is being made."""
    is_refused: bool = False
    """True if an upgrade to it would be refused as the Operator is."""
    counts: tuple[str, ...] = ()
    """The numbers of objects by kind, the most first."""
    namespace: str = ""
    """The namespace that the bundle goes into by itself."""


async def install_preview(
    session: Session, catalog: str, package: str, version: str, seconds: float = SECONDS
) -> Preview:
    """The contents of a version of a package; `seconds` is the time to wait for them."""
    if not version:
        return Preview(notices=(Notice("info", "No preview is there.", NOT_THERE),))
    entries = await offered_entries(session, package)
    entry = next((each for each in entries if each.catalog == catalog), None)
    if entry is None:
        return Preview(notices=(Notice("info", "No preview is there.", NOT_THERE),))
    found = await _known(package_contents(session, entry, version), seconds)
    if isinstance(found, Notice):
        return Preview(notices=(found,), is_pending=found.title == PENDING)
    notes = (Notice("warn", "The image was not read.", found.note),) if found.note else ()
    notices = (*_warning(found.contents.risks), *notes)
    return Preview(
        tuple(_contents(found.contents)),
        notices,
        is_known=True,
        counts=_counts(found.contents),
        namespace=found.contents.namespace,
    )


def _counts(found: BundleContents) -> tuple[str, ...]:
    ordered = sorted(found.objects.items(), key=lambda each: (-each[1], each[0]))
    rest = sum(number for _, number in ordered[MAX_COUNTS:])
    return (
        *(f"{number} {kind.partition('.')[0]}" for kind, number in ordered[:MAX_COUNTS]),
        *([f"{rest} more"] if rest else ()),
    )


async def upgrade_preview(session: Session, operator: Object, version: str) -> Preview:
    """The changes that another version of an Operator would make."""
    reader = await summaries_of(
        session, operator, text_at(operator, "status", "available", "catalog"), "olm diff --full"
    )
    found = await _known(difference(session, operator["metadata"]["name"], version, reader))
    if isinstance(found, Notice):
        return Preview(notices=(found,), is_pending=found.title == PENDING)
    notes = tuple(Notice("warn", "The image was not read.", each) for each in reader.notes)
    return Preview(
        tuple(_changes(found)),
        (*upgrade_warnings(found), *notes),
        is_known=True,
        is_refused=bool(found.refusals or any(each.refused or each.concerning for each in found.definitions)),
    )


async def _known(question: Awaitable[T], seconds: float = SECONDS) -> T | Notice:
    """The answer of a question, or why there is none."""
    try:
        return await asyncio.wait_for(question, seconds)
    except TimeoutError:
        return Notice("info", PENDING, f"{NOT_THERE} The summary is being made: this page shows it when it is there.")
    except Forbidden as error:
        if error.status == 401:
            raise
        return Notice("info", "No preview is there.", error.message)
    except (ApiError, OlmError, QuestionError) as error:
        return Notice("warn", "No preview is there.", f"{NOT_THERE} {error}")


def _warning(risks: tuple[RiskGroup, ...]) -> tuple[Notice, ...]:
    found = [each for each in risks if each.risk is Risk.CONTROL]
    if not found:
        return ()
    texts = [f"{each.account} may {permission_texts(each.sentences)[0]}." for each in found[:MAX_COUNTS]]
    return (Notice("warn", "It can take control of the cluster.", " ".join(texts)),)


def _contents(found: BundleContents) -> Iterator[Section]:
    yield _permissions("Permissions", found.risks)
    definitions = found.definitions or ("none",)
    yield Section("CustomResourceDefinitions", lines=definitions[:MAX_LINES])
    facts = [("Namespace", found.namespace), ("Objects", ", ".join(f"{n} {kind}" for kind, n in found.objects.items()))]
    facts += [("Webhooks", "; ".join(found.webhooks[:20]))] if found.webhooks else []
    facts += [("Images", ", ".join(found.images[:20]))] if found.images else []
    facts += [("Needs the kinds", ", ".join(found.required[:20]))] if found.required else []
    yield Section("Objects", facts=tuple(facts))


def _permissions(title: str, groups: tuple[RiskGroup, ...]) -> Section:
    rows = tuple(_permission_rows("", groups))
    lines = () if rows else ("It asks for none.",)
    return Section(title, lines, columns=("Risk", "Account", "What it may do"), rows=rows[:MAX_LINES], is_worded=True)


def _permission_rows(sign: str, groups: Iterable[RiskGroup]) -> Iterator[tuple[str, str, str]]:
    for each in groups:
        yield f"{sign}{_WORDS[each.risk]}", each.account, "; ".join(permission_texts(each.sentences))


def upgrade_warnings(found: Difference) -> Iterator[Notice]:
    """The notices about an upgrade or a rollback; what would refuse it comes first, and whole."""
    for text in found.refusals:
        yield Notice("bad", "This version would be refused.", text)
    refused = [
        f"{each.name}: {problem}"
        for each in found.definitions
        for problem in problem_groups((*each.refused, *each.concerning))
    ]
    if refused:
        refused += [f"{each.name}: {entry.object}" for each in found.definitions for entry in each.objects]
        title = "This version would be refused: it breaks rules about CustomResourceDefinitions."
        yield Notice("bad", title, lines=tuple(refused[:MAX_LINES]))
    ignored = [f"{each.name}: {problem}" for each in found.definitions for problem in problem_groups(each.ignored)]
    if ignored:
        title = "The settings of this Operator permit what rules about CustomResourceDefinitions refuse."
        yield Notice("warn", title, lines=tuple(ignored[:MAX_LINES]))
    if found.missing_kinds:
        yield Notice("warn", "The cluster does not serve kinds that it needs.", ", ".join(found.missing_kinds))
    risky = [each for each in by_risk(found.gained) if each.risk is Risk.CONTROL]
    if risky:
        yield Notice(
            "warn", "It gains permissions that lead to control of the cluster.", permission_texts(risky[0].sentences)[0]
        )


def _changes(found: Difference) -> Iterator[Section]:
    rows = (*_permission_rows("+ ", by_risk(found.gained)), *_permission_rows("- ", by_risk(found.lost)))
    lines = () if rows else ("No change.",)
    columns = ("Change", "Account", "What it may do")
    yield Section("Permissions", lines, columns=columns, rows=rows[:MAX_LINES], is_worded=True)
    yield _definitions(found)
    yield _way_back(found)
    counts = {change: sum(each.change is change for each in found.objects) for change in Change}
    text = "\n".join(f"{_SIGNS[each.change]} {each.key}" for each in found.objects[:MAX_LINES])
    shown = ", ".join(f"{number} {change}" for change, number in counts.items() if number)
    yield Section("Objects", (shown or "No change.",), text=text)
    notes = (*found.notes, *found.unread)
    if notes:
        yield Section("Notes", notes[:MAX_LINES])


_SIGNS: Final = {Change.ADDED: "+", Change.CHANGED: "~", Change.REMOVED: "-"}


def _way_back(found: Difference) -> Section:
    """The things of an upgrade that cannot be undone."""
    moved = [each.name for each in found.definitions if any("cannot be reversed" in text for text in each.changes)]
    if moved:
        names = ", ".join(moved[:MAX_LINES])
        return Section("Can it be undone?", (f"No. The storage version moves of {names}.",))
    return Section("Can it be undone?", ("Yes. No storage version moves.",))


_OF_DEFINITIONS: Final = {
    Change.ADDED: "added",
    Change.CHANGED: "changed, and no rule speaks of it",
    Change.REMOVED: "no longer in the bundle; it is kept while it has instances",
}


def _definitions(found: Difference) -> Section:
    rows = [
        (each.key.name, _OF_DEFINITIONS[each.change])
        for each in found.objects
        if each.key.kind == "CustomResourceDefinition"
        and each.key.name not in {known.name for known in found.definitions}
    ]
    for each in found.definitions:
        broken: list[tuple[str, Any]] = [("refused", problem) for problem in each.refused]
        broken += [("ignored", problem) for problem in each.ignored]
        texts = [*each.changes, *(f"{word}: {problem}" for word, problem in broken)]
        rows.append((each.name, "; ".join(texts)[:2000] or "changed"))
    lines = () if rows else ("No change.",)
    return Section("CustomResourceDefinitions", lines, columns=("Definition", "Change"), rows=tuple(rows))
