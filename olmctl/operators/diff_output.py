"""Prints the result of `olm diff`: a summary in lines that begin with `#`, then a unified diff of the objects; or the same as a
value.

Objects are shown as YAML; text of bundles without characters that control a terminal. Pure but for printing.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from olmctl.diff.definitions import ConcernedObject, DefinitionChange
from olmctl.diff.objects import Change, ObjectChange
from olmctl.diff.permissions import Permission, sentences
from olmctl.diff.problem_groups import problem_groups
from olmctl.object_text import as_yaml
from olmctl.questions.difference import Difference
from olmctl.terminal import clean
from olmctl.terminal_output import coloured, write_document
from olmkit.api.meta import Object
from olmkit.crd_safety.problem import Problem
from rukpak.format.bundle import Body

NOTHING = "nothing"
"""Stands for the version where nothing is installed."""
_SIGNS = {Change.ADDED: "+", Change.CHANGED: "~", Change.REMOVED: "-"}
_COLOURS = {"+": "green", "-": "red", "#": "yellow"}


def print_text(found: Difference, *, is_full: bool) -> None:
    """Print the summary and the unified diff, or without `is_full` the names of the objects; one line if nothing differs."""
    if not found.has_changes:
        is_same = found.old_version == found.new_version
        text = (
            f"{found.new_version} is installed" if is_same else f"{found.old_version or NOTHING} -> {found.new_version}"
        )
        text = f"# {clean(f'{found.operator}: {text}')}: nothing would change"
        write_document(f"{coloured(text, _COLOURS['#'])}\n")
        return
    for line in (*_summary(found), *(_hunks(found) if is_full else _names(found))):
        write_document((coloured(line, _COLOURS[line[0]]) if line[:1] in _COLOURS else line) + "\n")


def as_value(found: Difference, *, is_full: bool) -> Object:
    """The same for programs."""
    return {
        "operator": found.operator,
        "oldVersion": found.old_version or None,
        "newVersion": found.new_version,
        "refusals": list(found.refusals),
        "missingKinds": list(found.missing_kinds),
        "notes": list(found.notes),
        "customResourceDefinitions": [_definition(each) for each in found.definitions],
        "permissions": {
            "gained": [_permission(each) for each in found.gained],
            "lost": [_permission(each) for each in found.lost],
        },
        "objects": [_object(each, is_full=is_full) for each in found.objects],
    }


def _summary(found: Difference) -> Iterator[str]:
    yield f"# {found.operator}: {clean(found.old_version) or NOTHING} -> {clean(found.new_version)}"
    for text in found.refusals:
        yield f"# refused: {clean(text)}"
    for text in found.missing_kinds:
        yield f"# waits for a kind that the cluster does not have: {clean(text)}"
    for definition in found.definitions:
        yield from (f"# CustomResourceDefinition {definition.name}: {clean(text)}" for text in _facts(definition))
    if any(map(_is_grouped, found.definitions)):
        yield "# -o yaml names each field"
    yield from (f"# {clean(text)}" for text in found.notes)
    for sign, permissions in (("gained", found.gained), ("lost", found.lost)):
        yield from (f"# permission {sign}: {clean(text)}" for text in sentences(permissions))
    counts = Counter(each.change for each in found.objects)
    yield f"# objects: {', '.join(f'{counts[change]} {change}' for change in Change)}"


def _facts(definition: DefinitionChange) -> Iterator[str]:
    yield from definition.changes
    reason = f" ({definition.reason})" if definition.reason else ""
    yield from (f"refused: {each}{reason}" for each in problem_groups(definition.refused))
    yield from (f"refused: {each.rule.value}: {each.object}" for each in definition.objects)
    yield from (f"concerns custom resources: {each}" for each in problem_groups(definition.concerning))
    yield from (f"concerns no custom resource: {each}" for each in problem_groups(definition.noticeable))
    yield from (f"ignored: {each}" for each in problem_groups(definition.ignored))
    yield from (f"ignored: {each.rule.value}: {each.object}" for each in definition.permitted)


def _is_grouped(definition: DefinitionChange) -> bool:
    """Report whether fields are counted and not named."""
    sorts = (definition.refused, definition.concerning, definition.noticeable, definition.ignored)
    return any(len(group.paths) > 1 for problems in sorts for group in problem_groups(problems))


def _hunks(found: Difference) -> Iterator[str]:
    for each in found.objects:
        old, new = (_lines(body) for body in (each.old, each.new))
        name = clean(str(each.key))
        files = ["/dev/null" if body is None else name for body in (each.old, each.new)]
        yield from difflib.unified_diff(old, new, files[0], files[1], lineterm="")


def _names(found: Difference) -> Iterator[str]:
    """The objects of bundles that are known from their summaries."""
    for each in found.objects:
        yield f"{_SIGNS[each.change]} {clean(str(each.key))}"
    if found.objects:
        yield "# --full shows them"


def _lines(body: Body | None) -> list[str]:
    return as_yaml(dict(body)).splitlines() if body is not None else []


def _definition(definition: DefinitionChange) -> Object:
    return {
        "name": definition.name,
        "changes": list(definition.changes),
        "refused": _problems(definition.refused),
        "ignored": _problems(definition.ignored),
        "noticeable": _problems(definition.noticeable),
        "concerning": _problems(definition.concerning),
        "reason": definition.reason or None,
        "customResources": _custom_resources(definition.objects),
        "ignoredCustomResources": _custom_resources(definition.permitted),
    }


def _custom_resources(objects: Sequence[ConcernedObject]) -> list[Object]:
    return [
        {
            "rule": each.rule.value,
            "namespace": each.object.namespace or None,
            "name": each.object.name,
            "problem": each.object.problem,
        }
        for each in objects
    ]


def _problems(problems: Sequence[Problem]) -> list[Object]:
    return [
        {"version": each.version, "path": each.path, "rule": each.rule.value, "change": each.change}
        for each in problems
    ]


def _permission(permission: Permission) -> Object:
    return {
        "subject": permission.subject,
        "namespace": permission.namespace or None,
        "apiGroup": permission.group,
        "resource": permission.resource,
        "resourceName": permission.name or None,
        "verb": permission.verb or None,
    }


def _object(found: ObjectChange, *, is_full: bool) -> Object:
    key = found.key
    values: dict[str, Any] = {
        "change": found.change.value,
        "group": key.group,
        "kind": key.kind,
        "namespace": key.namespace or None,
        "name": key.name,
    }
    return values | ({"old": found.old, "new": found.new} if is_full else {})
