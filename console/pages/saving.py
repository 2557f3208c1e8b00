"""Writes what a person has edited: only that, only to the object that the edit began with, and not over fields of others.

Server-side apply names those who manage a field. Only if the person takes a field over is it forced.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson

from console.forms.changes import (
    Change,
    apply_body,
    are_of_others,
    changes,
    editable,
    foreign_removals,
    merge_patch,
    merged,
    overlapping,
)
from console.forms.places import MISSING
from console.forms.yaml_text import dump
from console.page import FIELD_MANAGER, BadInput
from console.views.instances import FieldConflict
from olmctl.questions.session import Session
from olmctl.terminal import shorten
from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError, Conflict, Invalid

MAX_SHOWN: Final = 300
_UNDECLARED: Final = re.compile(r"(?:^|\s)(\.\S+): field not declared in schema")
_MERGE: Final = "application/merge-patch+json"


@dataclass(frozen=True)
class Saved:
    """The outcome of an edit. At most one of the tuples is not empty; `document` is then what to edit on, from `origin`."""

    origin: Object
    document: Object
    changes: tuple[FieldConflict, ...] = ()
    conflicts: tuple[FieldConflict, ...] = ()
    """Fields that others manage."""
    moved: tuple[FieldConflict, ...] = ()
    """Fields that others changed meanwhile; nothing was written."""
    causes: tuple[FieldConflict, ...] = ()
    """The refusals of the API server, by field."""
    problem: str = ""

    @property
    def is_written(self) -> bool:
        """True if nothing is in the way."""
        return not (self.conflicts or self.moved or self.causes or self.problem)


async def save(
    session: Session, kind: Kind, origin: Object, document: Object, *, is_forced: bool = False, is_dry_run: bool = False
) -> Saved:
    """Write the changes between `origin`, which was read before, and `document`. Raises ApiError, BadInput."""
    namespace, name = (origin.get("metadata") or {}).get("namespace"), _name(origin)
    found = await session.client.get(kind, name, namespace)
    ours = changes(origin, document)
    result = Saved(editable(found), document, await asyncio.to_thread(_all_shown, ours))
    if found["metadata"]["uid"] != (origin.get("metadata") or {}).get("uid"):
        return replace(result, problem=f"{name} was deleted and created again: load the page again")
    if found["metadata"]["resourceVersion"] != origin["metadata"].get("resourceVersion"):
        theirs = changes(origin, found)
        if theirs:
            return await asyncio.to_thread(_moved, result, found, ours, theirs)
    if not ours:
        return replace(result, problem="nothing was changed")
    is_forced = is_forced or not are_of_others(found, ours, FIELD_MANAGER)
    foreign = foreign_removals(found, ours, FIELD_MANAGER)
    if foreign and not is_forced:
        why = "it was set by others: to remove it, take it over"
        shown = await asyncio.to_thread(_all_shown, foreign)
        return replace(result, conflicts=tuple(replace(each, why=why) for each in shown))
    try:
        if foreign:
            await _patch(session, kind, found, ours, is_dry_run=is_dry_run)
        else:
            body = apply_body(found, ours, FIELD_MANAGER)
            await session.client.apply(kind, body, FIELD_MANAGER, force=is_forced, dry_run=is_dry_run)
    except Conflict as error:
        if not error.causes:
            return replace(result, problem=error.message)
        return replace(result, conflicts=_conflicts(error))
    except Invalid as error:
        causes = tuple(FieldConflict(each.field, each.message) for each in error.causes) or undeclared(error.message)
        return replace(result, causes=causes, problem="" if causes else error.message)
    return result


def origin_of(text: str) -> Object:
    """The object that an edit began with, from the hidden field of its form. Raises BadInput."""
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadInput("origin", "it is no object: load the page again") from error
    metadata = found.get("metadata") if isinstance(found, dict) else None
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        raise BadInput("origin", "it is no object: load the page again")
    return dict(found)


async def _patch(session: Session, kind: Kind, found: Object, ours: tuple[Change, ...], *, is_dry_run: bool) -> None:
    query = {"fieldManager": FIELD_MANAGER, "dryRun": "All" if is_dry_run else None}
    path = kind.path(found["metadata"].get("namespace"), _name(found))
    await session.client.request("PATCH", path, query=query, body=merge_patch(found, ours), content_type=_MERGE)


def _moved(result: Saved, found: Object, ours: tuple[Change, ...], theirs: tuple[Change, ...]) -> Saved:
    """The changes of others beside ours. What to edit on has both, ours where they meet."""
    ours_by, met = {each.place: each for each in ours}, {each.place for each in overlapping(theirs, ours)}
    shown = []
    for each in theirs:
        mine = ours_by.get(each.place)
        why = "you changed it too" if each.place in met else ""
        shown.append(
            FieldConflict(each.field, why, _text(each.before), _text(each.after), _text(mine.after) if mine else "")
        )
    return replace(result, moved=tuple(shown), document=merged(editable(found), ours))


def _conflicts(error: ApiError) -> tuple[FieldConflict, ...]:
    """The fields with their managers: the message of a cause is `conflict with "kubectl" using apps/v1 at …`."""
    return tuple(FieldConflict(each.field.lstrip("."), each.message.partition(" at ")[0]) for each in error.causes)


def undeclared(message: str) -> tuple[FieldConflict, ...]:
    """The fields that the schema does not have: a refused apply names them in its message only, one in each line or after the
    object in parentheses."""
    return tuple(FieldConflict(each.lstrip("."), "is no field of this kind") for each in _UNDECLARED.findall(message))


def _all_shown(found: Iterable[Change]) -> tuple[FieldConflict, ...]:
    return tuple(map(_shown, found))


def _shown(change: Change) -> FieldConflict:
    return FieldConflict(change.field, "", _text(change.before), mine=_text(change.after))


def _text(value: Any) -> str:
    return "" if value is MISSING else shorten(dump(value).strip(), MAX_SHOWN)


def _name(obj: Mapping[str, Any]) -> str:
    return str(obj["metadata"]["name"])
