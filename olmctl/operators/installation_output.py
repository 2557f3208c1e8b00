"""Prints BundleDeployments that nothing owns: as rows of a list, and as the facts that explain one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from olmctl.operators.output import Column, age, print_table
from olmctl.questions.left_installations import LeftInstallation
from olmctl.questions.operator_state import condition, failure_text, is_true, part, state, text_at
from olmctl.terminal_output import say
from olmkit.api.bundle_annotations import VERSION_ANNOTATION
from olmkit.api.content import SourceType
from olmkit.api.meta import Object

_COLUMNS = (
    Column("BUNDLEDEPLOYMENT"),
    Column("PACKAGE"),
    Column("VERSION"),
    Column("WANTED"),
    Column("SOURCE"),
    Column("STATUS", is_status=True),
    Column("AGE"),
    Column("MESSAGE", is_wide=True),
)
_REPORTED = ("installed", "revision", "leftOut", "failed", "failure", "missingPermissions", "conditions")
"""The fields of the status that explain an installation."""


def print_installations(found: Iterable[LeftInstallation], *, is_wide: bool, headers: bool, is_first: bool) -> None:
    """Print a table, after an empty line unless it is the first; nothing if there are none."""
    if rows := [_row(each) for each in found]:
        if not is_first:
            say()
        print_table(_COLUMNS, rows, is_wide=is_wide, headers=headers)


def _row(each: LeftInstallation) -> tuple[object, ...]:
    found = each.deployment
    return (
        each.name,
        each.package,
        text_at(found, "status", "installed", "version"),
        _wanted(found),
        _source(found),
        state(found),
        age(found["metadata"]["creationTimestamp"]),
        text_at(condition(found, "Ready"), "message"),
    )


def report_left_installations(found: Iterable[LeftInstallation]) -> None:
    """Name each on stderr, with the command that takes it over."""
    for each in found:
        say(f"note: {each.sentence}", err=True)


def facts(each: LeftInstallation) -> Iterator[tuple[str, str]]:
    """Name and value of each fact about it; a value may be empty."""
    found = each.deployment
    version = text_at(found, "status", "installed", "version")
    yield "Deployment", f"{each.name} (a BundleDeployment without an Operator)"
    yield "Asked for", ", ".join(filter(None, (" ".join(filter(None, (each.package, _wanted(found)))), _source(found))))
    yield "State", state(found)
    yield "Failure", failure_text(found)
    runs = version or text_at(found, "status", "activeBundle") or "nothing"
    yield "Installed", runs if is_true(found, "Installed") else "nothing"
    yield "Namespace", text_at(found, "status", "installNamespace")
    yield "Revision", str(part(found, "status", "revision") or "")
    yield "Next", each.next_steps


def explanation(each: LeftInstallation) -> Object:
    """The part of its status that explains it."""
    status = each.deployment.get("status") or {}
    return {key: status[key] for key in _REPORTED if key in status}


def _wanted(found: Object) -> str:
    """The version of the bundle that spec names."""
    return text_at(found, "spec", "template", "metadata", "annotations", VERSION_ANNOTATION)


def _source(found: Object) -> str:
    source = part(found, "spec", "template", "spec", "source")
    kind = text_at(source, "type")
    if kind == SourceType.IMAGE:
        return text_at(source, "image", "ref")
    name = text_at(source, kind, "repository") or text_at(source, kind, "url")
    return f"{kind} {name}" if name else kind
