"""The notes at the top of the page of an Operator: what is in its way, and the version that is available. Pure.

A message is shown where it is the cause of a failure; everything else is said from fields, beside the buttons that change it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from console.links import page_url
from console.views.parts import Button, Note, unless
from console.views.states import is_installation_failing, upgrade_waits
from olmctl.questions.crd_check import crd_check
from olmctl.questions.exclusions import excluded_entry
from olmctl.questions.operator_state import (
    available_version,
    awaits_approval,
    condition,
    conditions,
    is_approved,
    is_terminating,
    is_true,
    part,
    refusal,
    text_at,
)
from olmctl.questions.owners import change_refusal, owner_of
from olmkit.api import bundledeployments
from olmkit.api.meta import Object
from olmkit.api.operators import ConditionType, Reason
from operator_controller.resolve.answers.answer import KeptOutBy

MAX_ENDING: Final = 5
"""Instances that are named one by one."""
MAX_FINDINGS: Final = 3
"""Rules that the note about a version names."""
PERMIT: Final = "Permit again"
"""The action for a version that is excluded."""
_REMEDIES: Final[Mapping[str, str]] = {
    bundledeployments.Reason.UNPACK_FAILED: (
        "It is tried again. Where it stays so, check that the registry has this image and that its pull secret is right, or"
        " choose another version."
    ),
    bundledeployments.Reason.BUNDLE_LOAD_FAILED: "Its bundle is not valid: choose another version.",
    bundledeployments.Reason.INVALID_CONFIGURATION: "Change its settings, or choose another version.",
}
_KEPT_OUT: Final[Mapping[str, str]] = {
    KeptOutBy.CONFLICT: "Its requirements, or those of other packages, are not satisfied.",
    KeptOutBy.CLUSTER: "This cluster lacks what it requires, or its bundle is not valid.",
    KeptOutBy.EDGE: "No upgrade leads to it from what runs.",
}


@dataclass(frozen=True)
class Waiting:
    """A version that is available and not installed, and what can be done about it."""

    kind: str
    title: str
    text: str
    actions: tuple[Button, ...] = ()
    broken: tuple[str, ...] = ()
    """Lines about the rules that would refuse it."""


@dataclass(frozen=True)
class EndingInstance:
    """An instance that is being deleted, with the finalizers that it waits for. `path` is its page."""

    kind: str
    name: str
    path: str
    finalizers: tuple[str, ...]


def notes(
    operator: Object, deployment: Object | None, ns: str = "", ending: Sequence[EndingInstance] = ()
) -> Iterable[Note]:
    """The notes about an Operator. `deployment`: its BundleDeployment, if it is known; `ending`: its instances that are being
    deleted."""
    if is_terminating(operator):
        yield from _removal(operator, deployment, ending)
        return
    name, refused = text_at(operator, "metadata", "name"), refusal(operator)
    kind, _, message = refused.partition(": ")
    if is_installation_failing(operator):
        yield _failure(operator, deployment, "" if owner_of(operator) else page_url("operators", name, "edit", ns=ns))
    if kind == "refused":
        yield Note("bad", "Nothing fits what is asked for.", message, "alert")
    elif refused and not is_installation_failing(operator):
        yield Note("bad", "It goes on only when somebody changes something.", message, "alert")
    if is_approved(operator):
        yield Note(
            "info", f"{available_version(operator)} is approved.", "operator-controller installs it now.", "clock"
        )
    for each in conditions(operator):
        if text_at(each, "type") == "Deprecated" and text_at(each, "status") == "True":
            yield Note("warn", "Its publisher has deprecated it.", text_at(each, "message"), "alert")


def _removal(operator: Object, deployment: Object | None, ending: Sequence[EndingInstance]) -> Iterator[Note]:
    """The notes about an Operator that is being deleted: what it waits for, and the instances that keep it."""
    ready, installation = (condition(each, ConditionType.READY) for each in (operator, deployment or {}))
    if text_at(ready, "reason") == Reason.DELETION_BLOCKED:
        yield Note("bad", "It cannot be uninstalled yet.", sentence(text_at(ready, "message")), "alert")
        return
    is_reported = text_at(installation, "reason") == bundledeployments.Reason.REMOVING
    yield Note(
        "warn", "It is being uninstalled.", sentence(text_at(installation, "message")) if is_reported else "", "clock"
    )
    held = [each for each in ending if each.finalizers]
    for each in held[:MAX_ENDING]:
        text = f"Its finalizers are still there: {', '.join(each.finalizers)}. The operator removes them while it runs."
        yield Note("warn", f"{each.kind} {each.name} is waited for.", text, "clock", href=each.path, link="Open it")
    if len(held) > MAX_ENDING:
        yield Note("warn", f"{len(held) - MAX_ENDING} more instances are waited for.", "", "clock")


def _failure(operator: Object, deployment: Object | None, edit: str) -> Note:
    """The note about an installation that fails: its cause, and the way out; without a page to `edit` it has no link."""
    running, wanted = _running(operator), text_at(operator, "status", "wantedVersion")
    cause = condition(deployment or {}, bundledeployments.ConditionType.HAS_VALID_BUNDLE)
    remedy = _REMEDIES.get(text_at(cause, "reason"), "") if text_at(cause, "status") == "False" else ""
    if not remedy:
        cause = condition(operator, ConditionType.READY)
        remedy = "It is tried again." if not is_true(operator, ConditionType.STALLED) else ""
    version = wanted or "It"
    title = f"The upgrade to {version} fails: {running} runs." if running else f"{version} cannot be installed."
    text = " ".join(filter(None, (sentence(text_at(cause, "message")), remedy)))
    return Note("bad", title, text, "alert", href=edit, link="Choose another version" if edit else "")


def sentence(text: str) -> str:
    """The text with a capital letter and a stop."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""


def waiting(operator: Object, ns: str = "", refused: str = "") -> Waiting | None:
    """The version that is available and not installed; None if there is none, or it is being installed. `refused`: the reason
    why the user may not change the Operator."""
    version = available_version(operator)
    if not version or is_approved(operator):
        return None
    name = text_at(operator, "metadata", "name")

    def button(text: str, page: str, *commands: str, kind: str = "") -> Button:
        path = page_url("operators", name, page, ns=ns, version=version)
        return Button(text, path, kind=kind, reason=refused, commands=commands, about=version)

    if not upgrade_waits(operator):
        review = button("See what it changes", "upgrade")
        edit = unless(change_refusal(operator), button("Change what it follows", "edit"))
        return _kept_out(operator, review, edit, button(PERMIT, "permit"))
    exclude = button("Not this version", "exclude", f"olm exclude {name} {version}")
    if not awaits_approval(operator):
        is_paused = part(operator, "spec", "paused") is True
        text = (
            "This Operator is paused: nothing of it is changed until it is resumed."
            if is_paused
            else f"The OperatorCondition of {_running(operator)} permits no upgrade at present."
        )
        return Waiting("warn", f"{version} waits.", text, (exclude,))
    approve = button("Review and approve", "upgrade", f"olm approve {name}", kind="primary")
    check, title = crd_check(operator), f"{version} waits for your approval."
    if check is not None and check.is_refused:
        title = f"{version} would be refused."
    lines: tuple[str, ...] = ()
    if check is not None:
        summary = (
            "It breaks rules about CustomResourceDefinitions."
            if check.is_refused
            else "It is refused if custom resources have what these rules are about; the review says whether they do."
        )
        more = len(check.findings) - MAX_FINDINGS
        rest = (f"and {more} more, which the review has",) if more > 0 else ()
        lines = (summary, *check.findings[:MAX_FINDINGS], *rest)
    return Waiting("warn", title, _origin(operator), (approve, exclude), lines)


def _origin(operator: Object) -> str:
    available, running = part(operator, "status", "available"), _running(operator)
    channel, catalog = text_at(available, "channel"), text_at(available, "catalog")
    text = f"It is in channel {channel} of catalog {catalog}." if channel and catalog else ""
    return " ".join(filter(None, (text, f"Until then {running} runs." if running else "")))


def _kept_out(operator: Object, review: Button, edit: Button, permit: Button) -> Waiting:
    """A version that is not going to be installed as the Operator is."""
    version, running = available_version(operator), _running(operator)
    reason = text_at(operator, "status", "available", "reason")
    stays = f"this Operator stays at {running}" if running else "it is not installed"
    title = f"{version} is available; {stays}."
    if excluded_entry(operator, version):
        return Waiting("info", title, "It is one of the versions that are excluded.", (permit,))
    if reason == KeptOutBy.VERSION:
        asked = text_at(operator, "spec", "version")
        return Waiting("info", title, f"Its version is set to {asked}." if asked else "", (edit, review))
    text = _KEPT_OUT.get(reason, "")
    return Waiting("info", title, f"{text} The tab Why has the whole explanation.".strip(), (edit,))


def _running(operator: Object) -> str:
    return text_at(operator, "status", "installed", "version")
