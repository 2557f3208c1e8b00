"""The actions on an Operator: approve a version, refuse it, permit it again, pause, resume, protect, another version, uninstall.

Each has a page that shows the consequences and the command first. A write names the object as the page saw it, so nothing that
somebody changed meanwhile is overwritten.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import replace
from typing import Any, Final

from console import commands
from console.access import Ask
from console.commands import Command
from console.links import page_url
from console.page import FIELD_MANAGER, Answer, BadInput, Fields, Page, PageRequest, Redirect
from console.pages.kind_reader import csv_parts
from console.pages.previews import AGAIN_SECONDS, Preview, install_preview, upgrade_preview
from console.routes import Route, Watch
from console.views.changes import Button, ChangeView, Notice, Section
from console.views.description import uninstall_message
from console.views.uninstall import deletion_notices, deletion_section
from olmctl.questions.catalogd import CatalogReadError
from olmctl.questions.errors import QuestionError, Refused
from olmctl.questions.exclusions import (
    FIELD,
    excluded_entry,
    excluded_versions,
    other_managers,
    stays_note,
    with_exclusion,
    without_entry,
    without_own,
)
from olmctl.questions.operator_state import (
    available_version,
    awaits_approval,
    installed,
    is_protected,
    is_terminating,
    part,
    text_at,
)
from olmctl.questions.owners import change_refusal, deletion_refusal
from olmctl.questions.removal import Removal, removal_of
from olmctl.questions.upgrade import approval_patch, check_changes, check_not_owned, version_patch
from olmkit.api import bundledeployments, operators
from olmkit.api.meta import Object, unchanged_precondition
from olmkit.api.operators import DELETION_PROTECTION_ANNOTATION, PROTECTED
from olmkit.errors import Conflict, Invalid
from olmkit.gocompat.versions import is_newer

SECTION: Final = "Operators"
_KIND: Final = operators.KIND
_REFUSED: Final = "It would be refused: the notes of this page say why. The command asks for it all the same."
_MAY_BE_REFUSED: Final = Notice(
    "warn",
    "CustomResourceDefinitions may not go back.",
    "A definition that would lose a stored version is refused.",
)
_NO_EDGES: Final = {"upgradeConstraintPolicy": "Ignore"}
ATTEMPTS: Final = 5
"""Writes of a status between the read and the write are tried again."""
_CHANGED: Final = "The Operator was changed meanwhile. Nothing was written: see what it is like, and decide again."


async def _read(request: PageRequest) -> Object:
    return await request.session.client.get(_KIND, request.path["name"])


async def _button(
    request: PageRequest, label: str, verb: str = "patch", kind: str = "primary", refusal: str = ""
) -> Button:
    """The button, which cannot be pressed with a `refusal`, or without the right."""
    verdict = (await request.access.may(Ask(verb, _KIND, name=request.path["name"]))).unless(refusal)
    return Button(label, verdict.reason, verdict.command, kind)


def _crumbs(name: str, last: str) -> tuple[tuple[str, str], ...]:
    return ("/operators", "Operators"), (f"/operators/{name}", name), ("", last)


def _seen(found: Object, *more: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    """The hidden fields that say which Operator, in which state, the page is about."""
    return ("uid", text_at(found, "metadata", "uid")), ("generation", str(part(found, "metadata", "generation"))), *more


def _page(view: ChangeView) -> Page:
    return Page("change.html", view, view.heading, SECTION)


async def _patch(request: PageRequest, body: dict[str, Any], done: str) -> Answer:
    """Change the Operator as the page saw it."""
    name = request.path["name"]
    return await _written(name, _patch_seen(request, name, body), done)


async def _written(name: str, write: Awaitable[object], done: str) -> Answer:
    """The page of the Operator, with what became of a write."""
    try:
        await write
    except Conflict:
        return Redirect(f"/operators/{name}", _CHANGED, "warn")
    except Refused as error:
        return Redirect(f"/operators/{name}", error.message, "warn")
    except Invalid as error:
        return Redirect(f"/operators/{name}", f"The API server refuses this: {error.message}"[:500], "bad")
    return Redirect(f"/operators/{name}", done)


async def _patch_seen(request: PageRequest, name: str, body: dict[str, Any]) -> None:
    """Patch it unless its spec differs from what the page showed; its status may. Raises Conflict, Refused."""
    seen = request.form.one("uid"), request.form.one("generation")
    for attempt in range(ATTEMPTS):
        found = await _read(request)
        metadata = found["metadata"]
        if (metadata["uid"], str(metadata["generation"])) != seen:
            raise Conflict(409, "Conflict", _CHANGED)
        check_not_owned(found, body.get("spec") or {})
        patch = {**body, "metadata": {**body.get("metadata", {}), **unchanged_precondition(found)}}
        try:
            await request.session.client.patch(_KIND, name, patch)
        except Conflict:
            if attempt == ATTEMPTS - 1:
                raise
        else:
            return


# --- versions


async def upgrade(request: PageRequest) -> Answer:
    """The review of the version that waits, or of another one that is asked for."""
    found = await _read(request)
    name, wanted = request.path["name"], request.query.one("version")
    waiting = available_version(found) if awaits_approval(found) else ""
    version = wanted or waiting or available_version(found)
    if wanted and wanted != waiting:
        return await _other_version(request, found, wanted)
    if not version:
        sections = (
            Section("Nothing waits", (f"{name} has {installed(found) or 'nothing'}, and no other version waits.",)),
        )
        view = ChangeView(
            f"Upgrade {name}", "", _crumbs(name, "Upgrade"), f"/operators/{name}/approve",
            Button("Approve", "No version waits for approval."), f"/operators/{name}", sections=sections,
        )  # fmt: skip
        return _page(view)
    return await _approval(request, found, version, is_waiting=bool(waiting))


async def _approval(request: PageRequest, found: Object, version: str, *, is_waiting: bool) -> Answer:
    name = request.path["name"]
    available = part(found, "status", "available") or {}
    preview = await _preview(request, found, version)
    button = await _button(request, f"Approve {version}" if preview.is_known else f"Approve {version} without preview")
    button = _unless_refused(button, preview)
    if not is_waiting:
        button = Button(
            f"Approve {version}",
            f"It does not wait for approval: {text_at(available, 'message') or 'no version waits'}",
        )
    origin = [text_at(available, key) for key in ("channel", "catalog")]
    facts = (
        ("Runs", installed(found) or "nothing"),
        ("Waits", f"{version} from channel {origin[0]} of catalog {origin[1]}"),
    )
    state = Section("The version", () if is_waiting else (text_at(available, "message"),), facts)
    view = ChangeView(
        _heading(found, version),
        "Approving writes the version into the annotation of the Operator; nothing else is changed by this page.",
        _crumbs(name, f"Upgrade to {version}"),
        f"/operators/{name}/approve",
        button,
        f"/operators/{name}",
        notices=preview.notices,
        sections=(state, *preview.sections),
        commands=commands.approve(name, version),
        hidden=_seen(found, ("version", version)),
        agreement="" if preview.is_known else "I approve it without having seen what changes.",
        others=_not_this(found, version, button),
    )
    return replace(_page(view), again_seconds=AGAIN_SECONDS if preview.is_pending else 0.0)


def _heading(found: Object, version: str) -> str:
    name, running = text_at(found, "metadata", "name"), text_at(found, "status", "installed", "version")
    if not running:
        return f"Install {name} {version}"
    return f"Roll {name} back to {version}" if is_newer(running, version) else f"Upgrade {name} to {version}"


async def _preview(request: PageRequest, found: Object, version: str) -> Preview:
    """The changes of an upgrade, or all that a first installation brings."""
    if installed(found):
        return await upgrade_preview(request.session, found, version)
    package, catalog = text_at(found, "spec", "packageName"), text_at(found, "status", "available", "catalog")
    return await install_preview(request.session, catalog, package, version)


def _unless_refused(button: Button, preview: Preview) -> Button:
    """The button, which cannot be pressed for a version that would be refused."""
    return replace(button, reason=_REFUSED) if preview.is_refused and not button.reason else button


def _not_this(found: Object, version: str, approve: Button) -> tuple[Button, ...]:
    if not installed(found):
        return ()
    return (
        Button("Not this version", approve.reason if approve.command else "", approve.command, "", "exclude", version),
    )


async def approve(request: PageRequest) -> Answer:
    """Write the approval of a version, or its refusal."""
    if excluded := request.form.one("exclude"):
        return await _exclude(request, excluded)
    version = request.form.one("version")
    found = await _read(request)
    if not version or version != available_version(found):
        text = f"Version {version} does not wait for approval: {available_version(found) or 'no version'} does."
        return Redirect(f"/operators/{request.path['name']}", text, "warn")
    preview = await _preview(request, found, version)
    if not preview.is_known and request.form.one("agree") != "yes":
        return Redirect(
            f"/operators/{request.path['name']}/upgrade", "Tick that you approve it without a preview.", "warn"
        )
    return await _patch(request, approval_patch(found, version), f"Version {version} was approved.")


async def _exclude(request: PageRequest, version: str) -> Answer:
    """Add a version to those that are never chosen. The list is a set: members of others stay theirs."""
    name, found = request.path["name"], await _read(request)
    if text_at(found, "metadata", "uid") != request.form.one("uid"):
        return Redirect(f"/operators/{name}", _CHANGED, "warn")
    if entry := excluded_entry(found, version):
        return Redirect(f"/operators/{name}", f"spec.{FIELD} has {entry} already.", "warn")
    excluding = with_exclusion(found, version, FIELD_MANAGER)
    write = request.session.client.apply(_KIND, excluding, FIELD_MANAGER, force=False)
    return await _written(name, write, f"Version {version} is excluded.")


async def ask_exclude(request: PageRequest) -> Answer:
    """The review of refusing one version."""
    found = await _read(request)
    name, version = request.path["name"], request.query.one("version") or available_version(found)
    stays = stays_note(found, version)
    notices = (Notice("warn", f"{version} runs.", f"{stays[:1].upper()}{stays[1:]}."),) if stays else ()
    view = ChangeView(
        f"Not version {version}",
        "This version is never chosen. What runs stays, and later versions are offered.",
        _crumbs(name, "Not this version"),
        f"/operators/{name}/exclude",
        await _button(request, f"Exclude {version}"),
        f"/operators/{name}",
        notices=notices,
        sections=(Section("Excluded already", (", ".join(excluded_versions(found)) or "none",)),),
        commands=commands.exclude(name, version),
        hidden=_seen(found, ("version", version)),
    )
    return _page(view)


async def exclude(request: PageRequest) -> Answer:
    """Refuse one version."""
    return await _exclude(request, request.form.one("version"))


async def ask_permit(request: PageRequest) -> Answer:
    """The review of permitting a version again that is excluded."""
    found = await _read(request)
    name, version = request.path["name"], _version(request.query)
    entry = excluded_entry(found, version)
    button = await _button(request, f"Permit {version} again")
    notices: tuple[Notice, ...] = ()
    whose = ", ".join(other_managers(found, entry, FIELD_MANAGER))
    if whose:
        text = "A tool that applies this again excludes it again."
        notices = (Notice("warn", f"It is excluded by {whose}.", text),)
    if not entry and not button.reason:
        button = Button(button.label, f"spec.{FIELD} does not have it.")
    view = ChangeView(
        f"Permit version {version} again",
        "The version may be chosen again, as the other fields of the Operator say.",
        _crumbs(name, "Permit again"),
        f"/operators/{name}/permit",
        button,
        f"/operators/{name}",
        notices=notices,
        sections=(Section("Excluded", (", ".join(excluded_versions(found)) or "none",)),),
        commands=commands.permit(name, entry or version, is_forced=bool(other_managers(found, entry))),
        hidden=_seen(found, ("version", version)),
        agreement=f"I permit it although it is excluded by {whose}." if whose else "",
    )
    return _page(view)


async def permit(request: PageRequest) -> Answer:
    """Take a version out of those that are never chosen."""
    name, version, found = request.path["name"], _version(request.form), await _read(request)
    if text_at(found, "metadata", "uid") != request.form.one("uid"):
        return Redirect(f"/operators/{name}", _CHANGED, "warn")
    entry = excluded_entry(found, version)
    if not entry:
        return Redirect(f"/operators/{name}", f"spec.{FIELD} does not have {version}.", "warn")
    if other_managers(found, entry, FIELD_MANAGER) and request.form.one("agree") != "yes":
        path = page_url("operators", name, "permit", version=version)
        return Redirect(path, "Tick that you permit it although it is excluded by others.", "warn")
    return await _written(name, _permit(request, found, entry), f"Version {entry} is permitted again.")


async def _permit(request: PageRequest, found: Object, entry: str) -> None:
    client = request.session.client
    if (kept := without_own(found, entry, FIELD_MANAGER)) is not None:
        found = await client.apply(_KIND, kept, FIELD_MANAGER, force=False)
    if (patch := without_entry(found, entry)) is not None:
        await client.patch(_KIND, request.path["name"], patch)


async def _other_version(request: PageRequest, found: Object, version: str) -> Answer:
    name = request.path["name"]
    notices = []
    try:
        await check_changes(request.session, found, {"version": version})
    except QuestionError as error:
        notices.append(Notice("warn", "This may come to nothing.", error.message))
    preview = await _preview(request, found, version)
    refusal = change_refusal(found)
    view = ChangeView(
        f"Follow version {version} only",
        f"Operator {name} is pinned to {version}: it is not upgraded until its version is changed.",
        _crumbs(name, f"Version {version}"),
        f"/operators/{name}/version",
        await _button(request, f"Pin to {version}", refusal=refusal),
        f"/operators/{name}",
        notices=(*notices, *preview.notices),
        sections=(
            Section("The version", facts=(("Runs", installed(found) or "nothing"), ("Wanted", version))),
            *preview.sections,
        ),
        commands=() if refusal else (Command("olm", commands.line("olm", "upgrade", name, "--version", version)),),
        hidden=_seen(found, ("version", version), *_reviewed(preview, version)),
    )
    return replace(_page(view), again_seconds=AGAIN_SECONDS if preview.is_pending else 0.0)


def _reviewed(preview: Preview, version: str) -> tuple[tuple[str, str], ...]:
    """The hidden field of a review that showed what changes: who confirms it approves the version."""
    return (("reviewed", version),) if preview.is_known else ()


async def ask_rollback(request: PageRequest) -> Answer:
    """The review of an older version."""
    found = await _read(request)
    name, version = request.path["name"], request.query.one("version")
    if not version:
        raise BadInput("version", "name the version to bring back")
    preview = await _preview(request, found, version)
    reviewed = version if preview.is_known else ""
    refusal = change_refusal(found)
    button = await _button(request, f"Roll back to {version}", kind="danger", refusal=refusal)
    view = ChangeView(
        f"Roll {name} back to {version}",
        "The older version is installed whatever the upgrade edges say, and stays until its version is changed.",
        _crumbs(name, "Roll back"),
        f"/operators/{name}/rollback",
        _unless_refused(button, preview),
        f"/operators/{name}",
        notices=(*preview.notices, *(() if preview.is_known else (_MAY_BE_REFUSED,))),
        sections=(
            Section("The version", facts=(("Runs", installed(found) or "nothing"), ("Then", version))),
            *preview.sections,
        ),
        commands=() if refusal else (commands.patch(name, version_patch(found, version, reviewed, _NO_EDGES)),),
        hidden=_seen(found, ("version", version), *_reviewed(preview, version)),
    )
    return replace(_page(view), again_seconds=AGAIN_SECONDS if preview.is_pending else 0.0)


async def rollback(request: PageRequest) -> Answer:
    """Ask for an older version, without upgrade edges."""
    return await _ask_for(request, "goes back to", _NO_EDGES)


async def pin(request: PageRequest) -> Answer:
    """Ask for one version."""
    return await _ask_for(request, "is pinned to", {})


async def _ask_for(request: PageRequest, done: str, more: Mapping[str, str]) -> Answer:
    """Ask for the version of a review, which approves it if the review showed what changes."""
    version, found = _version(request.form), await _read(request)
    body = version_patch(found, version, request.form.one("reviewed"), more)
    return await _patch(request, body, f"{request.path['name']} {done} {version}.")


def _version(fields: Fields) -> str:
    version = fields.one("version")
    if not version or len(version) > operators.MAX_VERSION_LENGTH:
        raise BadInput("version", "name one version, such as 1.2.3")
    return version


# --- pause, resume


async def ask_pause(request: PageRequest) -> Answer:
    """The review of a pause."""
    return await _ask_paused(request, is_paused=True)


async def ask_resume(request: PageRequest) -> Answer:
    """The review of the end of a pause."""
    return await _ask_paused(request, is_paused=False)


async def _ask_paused(request: PageRequest, *, is_paused: bool) -> Answer:
    found = await _read(request)
    name, word = request.path["name"], "Pause" if is_paused else "Resume"
    text = "Nothing of it is changed until it is resumed. An installation that has begun continues."
    if not is_paused:
        waiting = available_version(found)
        text = f"What its spec asks for is installed{f': {waiting} waits' if waiting else ''}."
    names = f"{word} {name}", word, word.lower()
    return await _switch_page(request, found, names, text, commands.pause(name, is_paused=is_paused))


async def _switch_page(
    request: PageRequest, found: Object, names: tuple[str, str, str], text: str, shown: tuple[Command, ...]
) -> Page:
    """The review of a switch. `names`: its heading, its label, and the last part of its path."""
    name, (heading, label, action) = request.path["name"], names
    refusal = change_refusal(found) if action in ("protect", "unprotect") else ""
    view = ChangeView(
        heading, text, _crumbs(name, label), f"/operators/{name}/{action}",
        await _button(request, label, refusal=refusal), f"/operators/{name}", commands=() if refusal else shown,
        hidden=_seen(found),
    )  # fmt: skip
    return _page(view)


async def pause(request: PageRequest) -> Answer:
    """Set spec.paused."""
    return await _patch(request, {"spec": {"paused": True}}, f"{request.path['name']} is paused.")


async def resume(request: PageRequest) -> Answer:
    """Remove spec.paused."""
    return await _patch(request, {"spec": {"paused": None}}, f"{request.path['name']} is resumed.")


# --- protection from deletion


async def ask_protect(request: PageRequest) -> Answer:
    """The review of a protection."""
    return await _ask_protected(request, is_protected=True)


async def ask_unprotect(request: PageRequest) -> Answer:
    """The review of the end of a protection."""
    return await _ask_protected(request, is_protected=False)


async def _ask_protected(request: PageRequest, *, is_protected: bool) -> Answer:
    found = await _read(request)
    name, action = request.path["name"], "protect" if is_protected else "unprotect"
    heading = f"Protect {name} from deletion" if is_protected else f"Permit the deletion of {name}"
    text = "It cannot be deleted while custom resources exist that would be deleted too."
    if not is_protected:
        text = "Who deletes it then also deletes its custom resources, unless its deletion policy keeps them."
    label = "Protect" if is_protected else "End the protection"
    shown = commands.protect(name, is_protected=is_protected)
    return await _switch_page(request, found, (heading, label, action), text, shown)


async def protect(request: PageRequest) -> Answer:
    """Set the annotation that protects."""
    return await _protect(request, PROTECTED, "is protected from deletion")


async def unprotect(request: PageRequest) -> Answer:
    """Remove the annotation that protects."""
    return await _protect(request, None, "can be deleted")


async def _protect(request: PageRequest, value: str | None, done: str) -> Answer:
    if refusal := change_refusal(await _read(request)):
        return Redirect(f"/operators/{request.path['name']}", refusal, "warn")
    body = {"metadata": {"annotations": {DELETION_PROTECTION_ANNOTATION: value}}}
    return await _patch(request, body, f"{request.path['name']} {done}.")


# --- uninstall


async def ask_uninstall(request: PageRequest) -> Answer:
    """The page of what goes with the Operator."""
    return await _uninstall_page(request)


async def _uninstall_page(request: PageRequest, problem: str = "") -> Page:
    found = await _read(request)
    name = request.path["name"]
    removal = await removal_of(request.session, found)
    button = await _button(request, "Uninstall", "delete", "danger", deletion_refusal(found))
    notices = []
    if is_terminating(found):
        button = Button("Uninstall", "It is being deleted already.", "", "danger")
    elif is_protected(found) and removal.is_refused:
        button = Button("Uninstall", "It is protected, and there are custom resources.", "", "danger")
    elif removal.requiring.holding:
        names = ", ".join(removal.requiring.holding)
        notices.append(Notice("warn", f"{names} requires it.", "It stays, and waits, until these are uninstalled."))
    if words := await _last_words(request, found):
        notices.append(Notice("info", "Its publisher says:", words))
    sections: tuple[Section, ...] = (Section("What becomes of it", tuple(removal.lines[1:201])),)
    if _takes_instances(removal):
        notices = [*deletion_notices(name, is_protected=is_protected(found)), *notices]
        sections = (
            *filter(None, [deletion_section(removal.custom_resources)]),
            *sections,
        )
    view = ChangeView(
        f"Uninstall {name}",
        removal.lines[0] if removal.lines else "",
        _crumbs(name, "Uninstall"),
        f"/operators/{name}/uninstall",
        button,
        f"/operators/{name}",
        notices=tuple(notices),
        sections=sections,
        commands=() if deletion_refusal(found) else commands.uninstall(name),
        hidden=(("uid", text_at(found, "metadata", "uid")),),
        confirm=name if _takes_instances(removal) else "",
        problem=problem,
    )
    page = _page(view)
    return Page(page.template, view, page.title, SECTION, status=422 if problem else 200)


async def _last_words(request: PageRequest, found: Object) -> str:
    """The publisher's message for people who uninstall the Operator; "" if there is none, or the catalog is away."""
    catalog, bundle = (text_at(found, "status", "installed", key) for key in ("catalog", "name"))
    try:
        annotations, _, _ = await csv_parts(request.session, catalog, text_at(found, "spec", "packageName"), bundle)
    except CatalogReadError:
        return ""
    return uninstall_message(annotations)


def _takes_instances(removal: Removal) -> bool:
    """Report whether custom resources go with the Operator, or that is not known."""
    return any(each.in_use for each in removal.cascading)


async def uninstall(request: PageRequest) -> Answer:
    """Delete the Operator that the page was about, if its name was typed where custom resources go with it."""
    found = await _read(request)
    name = request.path["name"]
    if refusal := deletion_refusal(found):
        return Redirect(f"/operators/{name}", refusal, "warn")
    removal = await removal_of(request.session, found)
    if _takes_instances(removal) and request.form.one("confirm").strip() != name:
        return await _uninstall_page(request, f"Type {name} to confirm that custom resources are deleted.")
    left = await request.session.client.delete(_KIND, name, uid=request.form.one("uid") or None)
    if left is None:
        return Redirect("/operators", f"Operator {name} was uninstalled.")
    return Redirect(f"/operators/{name}", f"Operator {name} is being uninstalled.")


def _watches(request: PageRequest) -> tuple[Watch, ...]:
    name = request.path["name"]
    return Watch(operators.KIND, name=name), Watch(bundledeployments.KIND, name=name)


_PATH: Final = "/operators/{name}"
ROUTES = (
    Route("GET", f"{_PATH}/upgrade", upgrade, _watches, refresh_without_js=False),
    Route("POST", f"{_PATH}/approve", approve),
    Route("GET", f"{_PATH}/exclude", ask_exclude),
    Route("POST", f"{_PATH}/exclude", exclude),
    Route("GET", f"{_PATH}/permit", ask_permit),
    Route("POST", f"{_PATH}/permit", permit),
    Route("POST", f"{_PATH}/version", pin),
    Route("GET", f"{_PATH}/rollback", ask_rollback, _watches, refresh_without_js=False),
    Route("POST", f"{_PATH}/rollback", rollback),
    Route("GET", f"{_PATH}/pause", ask_pause),
    Route("POST", f"{_PATH}/pause", pause),
    Route("GET", f"{_PATH}/resume", ask_resume),
    Route("POST", f"{_PATH}/resume", resume),
    Route("GET", f"{_PATH}/protect", ask_protect),
    Route("POST", f"{_PATH}/protect", protect),
    Route("GET", f"{_PATH}/unprotect", ask_unprotect),
    Route("POST", f"{_PATH}/unprotect", unprotect),
    Route("GET", f"{_PATH}/uninstall", ask_uninstall),
    Route("POST", f"{_PATH}/uninstall", uninstall),
)
