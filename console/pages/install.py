"""The form of an Operator, the review of what it installs, and its creation; and the form of one that exists.

Nothing is written before the review was shown, and the API server checks the Operator by a dry run before it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from console import commands
from console.access import Ask, Verdict
from console.commands import Command, install_commands
from console.commands import apply as apply_command
from console.forms import operator_form
from console.forms.changes import changes, editable, removing_patch
from console.forms.operator_form import Read
from console.links import page_url
from console.page import FIELD_MANAGER, Answer, Page, PageRequest, Redirect
from console.pages.offers import Offer, Resolved, preview, read_offer
from console.pages.previews import Preview, install_preview
from console.pages.saving import save
from console.routes import Route, Watch
from console.views.changes import Button, ChangeView, Notice, Section
from console.views.install import BasisView, InstallPreview, OperatorFormView
from olmctl.questions.install import operator_name
from olmctl.questions.operator_state import is_terminating, part, text_at
from olmctl.questions.owners import change_refusal
from olmctl.questions.packages import installed_packages
from olmctl.questions.requested_fields import channels_text
from olmkit.api import catalogs, operators
from olmkit.api.meta import Object, apply_precondition
from olmkit.errors import ApiError, Conflict, Forbidden, Invalid

CATALOG, OPERATORS = "Catalog", "Operators"
AGREEMENT: Final = "Install without preview"
FORM_SECONDS: Final = 1.0
"""The time that the form waits for catalogd to read a bundle. With JavaScript it asks again."""
_SCRIPTS: Final = ("form.js", "preview.js")
_KIND: Final = operators.KIND


def _texts(request: PageRequest) -> dict[str, str]:
    """The texts of the form, of a POST or of a link."""
    fields = request.form if request.form.one("sent") else request.query
    return {name: fields.one(name) for name in operator_form.NAMES if name in fields}


def _before(package: str) -> Object:
    return {"spec": {"packageName": package}}


async def _offer(request: PageRequest, texts: Mapping[str, str]) -> Offer:
    channel = texts.get("channel", "")
    version = texts.get("version", "") if texts.get("follow") == operator_form.PINNED else ""
    return await read_offer(request.session, request.path["package"], request.path["catalog"], channel, version)


async def show(request: PageRequest) -> Answer:
    """The form, as the URL or a form fills it in, with what it would install. Says nothing about fields that are wrong."""
    texts = _texts(request)
    if texts.get("version") and "follow" not in texts:
        texts["follow"] = operator_form.PINNED
    offer = await _offer(request, texts)
    start = {
        "name": operator_name(offer.package),
        "watch": operator_form.default_mode(offer.modes),
        "approval": "Manual",
        **texts,
    }
    return await _form_page(request, offer, operator_form.completed(start, offer.suggested_namespace), {})


async def _form_page(
    request: PageRequest, offer: Offer, texts: Mapping[str, str], problems: Mapping[str, str], status: int = 200
) -> Page:
    known = operator_form.texts_of(_before(offer.package))
    shown = {**known, **texts}
    read = operator_form.read(shown, _before(offer.package))
    notices, installs = await asyncio.gather(_managers(request, offer.package), _installs(request, offer, read))
    if offer.problem:
        notices += (Notice("info", "Some of this is not known.", offer.problem),)
    view = OperatorFormView(
        f"Install {offer.package}",
        "Nothing is changed until you have seen what comes.",
        (("/catalog", "Catalog"), (f"/catalog/{offer.catalog}/{offer.package}", offer.package), ("", "Install")),
        f"/catalog/{offer.catalog}/{offer.package}/install/review",
        f"/catalog/{offer.catalog}/{offer.package}",
        shown,
        _all_fields(problems),
        offer.channels,
        tuple((name, f"{name} (priority {priority})") for name, priority in offer.catalogs),
        offer.modes,
        offer.newest(shown["channel"]),
        offer.suggested_namespace,
        True,
        Button("Review"),
        notices,
        install_commands(read.operator),
        (("sent", "1"),),
        preview=installs,
        preview_path=f"/catalog/{offer.catalog}/{offer.package}/install/preview",
    )
    title = f"Install {offer.package}"
    follows = _basis_path(offer)
    return Page("install.html", view, title, CATALOG, status=status, scripts=_SCRIPTS, follows=follows)


def _basis_path(offer: Offer) -> str:
    return page_url("catalog", offer.catalog, offer.package, "install", "basis")


async def _installs(request: PageRequest, offer: Offer, read: Read) -> InstallPreview:
    """The bundles that the form would install, and the objects of the chosen version, as far as they are known at once."""
    installed = await _installed(request)
    version = _chosen_version(read, offer)
    resolved, found = await asyncio.gather(
        preview(request, offer, read.operator, installed),
        install_preview(request.session, offer.catalog, offer.package, version, FORM_SECONDS),
    )
    return InstallPreview(offer.package, version, resolved.section, found.counts, found.is_pending or resolved.is_late)


async def basis(request: PageRequest) -> Answer:
    """The page of what a preview rests on: the contents of the Catalogs, and what Operators have installed."""
    listed, installed = await asyncio.gather(_catalogs(request), installed_packages(request.session))
    facts = [(text_at(each, "metadata", "name"), text_at(each, "status", "contentDigest")) for each in listed]
    rows = [
        (text_at(each, "metadata", "name"), text_at(each, "status", "installed", "version"))
        for group in installed.values()
        for each in group
    ]
    view = BasisView(request.path["package"], tuple(sorted(facts)), tuple(sorted(rows)))
    return Page("basis.html", view, f"What the preview of {view.package} rests on", CATALOG)


async def _catalogs(request: PageRequest) -> list[Object]:
    """The Catalogs; none if they may not be listed."""
    try:
        return (await request.session.client.list(catalogs.KIND))[0]
    except ApiError:
        return []


def _all_fields(problems: Mapping[str, str]) -> dict[str, str]:
    return {**dict.fromkeys(operator_form.NAMES, ""), **problems}


async def _managers(request: PageRequest, package: str) -> tuple[Notice, ...]:
    """The Operators that manage the package already."""
    found = (await installed_packages(request.session)).get(package, ())
    names = [text_at(each, "metadata", "name") for each in found if not is_terminating(each)]
    if not names:
        return ()
    text = f"Operator {names[0]} manages it. Change that one; a second Operator for one package is not resolved."
    title = f"Package {package} is installed already."
    return (Notice("warn", title, text, page_url("operators", names[0]), f"Open Operator {names[0]}"),)


async def review(request: PageRequest) -> Answer:
    """The page of what the Operator of the form would install; the form again if something is wrong with it."""
    texts = _texts(request)
    offer = await _offer(request, texts)
    texts = operator_form.completed(texts, offer.suggested_namespace)
    read = operator_form.read(texts, _before(offer.package), offer.modes)
    if read.problems or request.form.one("back"):
        return await _form_page(request, offer, texts, read.problems, 422 if read.problems else 200)
    version = _chosen_version(read, offer)
    operator = operator_form.approved(read.operator, version)
    problems, button, notices = await _dry_run(request, operator)
    if problems:
        return await _form_page(request, offer, texts, problems, 422)
    resolved = await preview(request, offer, read.operator, await _installed(request))
    refused = refusal_notices(resolved.refusal)
    found = await install_preview(request.session, offer.catalog, offer.package, version)
    view = ChangeView(
        f"Install {offer.package}",
        f"Version {version or 'not known yet'} of catalog {offer.catalog}, by Operator {read.operator['metadata']['name']}.",
        (("/catalog", "Catalog"), (f"/catalog/{offer.catalog}/{offer.package}", offer.package), ("", "Review")),
        f"/catalog/{offer.catalog}/{offer.package}/install",
        _install_button(button, is_refused=bool(refused), is_known=found.is_known),
        f"/catalog/{offer.catalog}/{offer.package}",
        notices=(
            *await _managers(request, offer.package),
            *refused,
            *notices,
            *found.notices,
            *_other_places(read, found),
        ),
        sections=(_summary(read, offer), *(() if refused else (resolved.section,)), *found.sections),
        commands=install_commands(operator),
        hidden=_hidden(texts, ("reviewed", version)),
        agreement="" if found.is_known else "I install it without having seen its permissions.",
        review=f"/catalog/{offer.catalog}/{offer.package}/install/review",
        is_pending=found.is_pending or resolved.is_late,
    )
    scripts, follows = ("preview.js",), _basis_path(offer)
    return Page("change.html", view, f"Review {offer.package}", CATALOG, scripts=scripts, follows=follows)


def refusal_notices(refusal: str) -> tuple[Notice, ...]:
    """The note about an Operator that nothing would be installed for."""
    then = "The Operator waits until a catalog has what is missing."
    return (Notice("bad", "Nothing would be installed.", f"{refusal.rstrip('.')}. {then}"),) if refusal else ()


def _hidden(texts: Mapping[str, str], *more: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    """The form as hidden fields of its review."""
    return ("sent", "1"), *more, *((name, texts[name]) for name in operator_form.NAMES if name in texts)


def _install_button(button: Button, *, is_refused: bool, is_known: bool) -> Button:
    if is_refused:
        return replace(button, label="Create the Operator nevertheless", kind="")
    return replace(button, label="Install" if is_known else AGREEMENT)


def _summary(read: Read, offer: Offer) -> Section:
    spec, install = read.operator["spec"], read.operator["spec"].get("install") or {}
    watched = install.get("watchNamespaces")
    facts = [
        (
            "Follows",
            spec.get("version")
            or f"the newest version of {spec.get('channel') or offer.default_channel or 'its channel'}",
        ),
        (
            "Upgrades",
            "none: it stays at this version"
            if operator_form.texts_of(read.operator)["follow"] == operator_form.PINNED
            else "after approval of each version after this one"
            if spec.get("approval") == "Manual"
            else "as soon as the catalog has them",
        ),
        (
            "Installs into",
            install.get("namespace") or offer.suggested_namespace or "the namespace that the bundle suggests",
        ),
        ("Watches", ", ".join(watched) if watched else "all namespaces, if the version supports it"),
    ]
    account = install.get("serviceAccount") or {}
    if account:
        facts.append(
            ("Installed as", f"ServiceAccount {account.get('namespace') or install.get('namespace')}/{account['name']}")
        )
    if install.get("rollback") == "OnFailure":
        facts.append(("When an upgrade fails", "the last version is brought back"))
    deletion = str(install.get("deletionPolicy") or operator_form.DELETIONS[0][0])
    facts.append(("When it is deleted", dict(operator_form.DELETIONS).get(deletion, deletion)))
    return Section("What you ask for", facts=tuple(facts))


def _other_places(read: Read, found: Preview) -> tuple[Notice, ...]:
    """The difference between the preview, which is that of the bundle by itself, and the namespaces that were chosen."""
    install = read.operator["spec"].get("install") or {}
    namespace, watched = install.get("namespace") or found.namespace, install.get("watchNamespaces") or ()
    if not found.is_known or (namespace == found.namespace and not watched):
        return ()
    texts = []
    if namespace != found.namespace:
        texts.append(f"Objects and accounts that it shows in {found.namespace} go into {namespace}.")
    if watched:
        texts.append(f"Permissions of its watched namespaces are given in {', '.join(watched)} only.")
    return (Notice("info", "The preview is that of the bundle by itself.", " ".join(texts)),)


def _chosen_version(read: Read, offer: Offer) -> str:
    spec = read.operator["spec"]
    if spec.get("version") and _bundle_of(offer, spec["version"]):
        return str(spec["version"])
    return "" if spec.get("version") else offer.newest(spec.get("channel", ""))


def _bundle_of(offer: Offer, version: str) -> str:
    bundles = offer.content.bundles.values() if offer.content is not None else ()
    return next((each.name for each in bundles if each.version is not None and str(each.version) == version), "")


async def _installed(request: PageRequest) -> dict[str, str]:
    by_package = await installed_packages(request.session)
    found = {name: text_at(each[0], "status", "installed", "version") for name, each in by_package.items() if each}
    return {name: version for name, version in found.items() if version}


async def _dry_run(request: PageRequest, operator: Object) -> tuple[dict[str, str], Button, tuple[Notice, ...]]:
    """The answer of the API server about the Operator: problems by field, the button, and sentences."""
    verdict = await request.access.may(Ask("create", _KIND))
    button = Button("Install", verdict.reason, verdict.command)
    try:
        await _create(request, operator, is_dry_run=True)
    except Conflict:
        return {"name": "an Operator of this name exists already"}, button, ()
    except Invalid as error:
        problems = _problems(error)
        return problems, button, () if problems else (Notice("bad", "The API server refuses this.", error.message),)
    except Forbidden as error:
        if error.status == 401:
            raise
        return {}, Button("Install", error.message, verdict.command), ()
    return {}, button, ()


def _problems(error: ApiError) -> dict[str, str]:
    found = {operator_form.field_of(each.field): each.message for each in error.causes}
    return {name: text for name, text in found.items() if name}


async def _create(request: PageRequest, operator: Object, *, is_dry_run: bool = False) -> Object:
    """Create the Operator by a server-side apply that creates only."""
    body = {**operator, "metadata": {**operator["metadata"], **apply_precondition(None)}}
    return await request.session.client.apply(_KIND, body, FIELD_MANAGER, force=False, dry_run=is_dry_run)


async def create(request: PageRequest) -> Answer:
    """Create the Operator of the review."""
    texts = _texts(request)
    offer = await _offer(request, texts)
    texts = operator_form.completed(texts, offer.suggested_namespace)
    read = operator_form.read(texts, _before(offer.package), offer.modes)
    if read.problems:
        return await _form_page(request, offer, texts, read.problems, 422)
    version = _chosen_version(read, offer)
    found = await install_preview(request.session, offer.catalog, offer.package, version)
    if not found.is_known and request.form.one("agree") != "yes":
        return await review(request)
    try:
        made = await _create(request, operator_form.approved(read.operator, request.form.one("reviewed")))
    except Conflict:
        return await _form_page(request, offer, texts, {"name": "an Operator of this name exists already"}, 409)
    except Invalid as error:
        if not (problems := _problems(error)):
            raise
        return await _form_page(request, offer, texts, problems, 422)
    name = made["metadata"]["name"]
    return Redirect(f"/operators/{name}", f"Operator {name} was created: {offer.package} is being installed.")


# --- an Operator that exists


async def edit(request: PageRequest) -> Answer:
    """The form of an Operator as it is."""
    found = await request.session.client.get(_KIND, request.path["name"])
    return await _edit_page(request, found, operator_form.texts_of(found), {})


async def _edit_page(
    request: PageRequest, found: Object, texts: Mapping[str, str], problems: Mapping[str, str], status: int = 200
) -> Page:
    name = str(found["metadata"]["name"])
    offer = await _offer_of(request, found, texts)
    verdict = await _may_change(request, found)
    view = OperatorFormView(
        f"Change {name}",
        "Only fields that you change are written, after a review.",
        (("/operators", "Operators"), (f"/operators/{name}", name), ("", "Change")),
        f"/operators/{name}/edit/review",
        f"/operators/{name}",
        {**operator_form.texts_of(found), **texts},
        _all_fields(problems),
        offer.channels,
        tuple((each, f"{each} (priority {priority})") for each, priority in offer.catalogs),
        offer.modes,
        offer.newest(texts.get("channel", "")),
        offer.suggested_namespace,
        False,
        Button("Review", verdict.reason, verdict.command),
        (Notice("info", "Some of this is not known.", offer.problem),) if offer.problem else (),
        hidden=(("sent", "1"), ("generation", _generation(found))),
        followed=channels_text(found["spec"]) if part(found, "spec", "channels") else "",
    )
    return Page("install.html", view, f"Change {name}", OPERATORS, status=status, scripts=("form.js",))


async def _may_change(request: PageRequest, found: Object) -> Verdict:
    """The right of the user to change the Operator; refused to everybody if it belongs to a ClusterExtension."""
    verdict = await request.access.may(Ask("patch", _KIND, name=text_at(found, "metadata", "name")))
    return verdict.unless(change_refusal(found))


async def _offer_of(request: PageRequest, found: Object, texts: Mapping[str, str]) -> Offer:
    """The offer of the package of an Operator; nothing is known of one that no catalog has."""
    package = text_at(found, "spec", "packageName")
    catalog = texts.get("catalog") or text_at(found, "status", "installed", "catalog")
    try:
        return await read_offer(request.session, package, catalog, texts.get("channel", ""))
    except Exception as error:  # the form works without it, and says why
        if isinstance(error, ApiError):
            raise
        return Offer(package, catalog, (), (), "", problem=str(error))


async def review_edit(request: PageRequest) -> Answer:
    """The fields that the form changes."""
    found = await request.session.client.get(_KIND, request.path["name"])
    texts, name = _texts(request), request.path["name"]
    offer = await _offer_of(request, found, texts)
    before = editable(found)
    read = operator_form.read({**texts, "name": name}, before, offer.modes)
    if read.problems or request.form.one("back"):
        return await _edit_page(request, found, texts, read.problems, 422 if read.problems else 200)
    if request.form.one("generation") != _generation(found):
        notice = Notice("warn", "The Operator was changed meanwhile.", "This is the change to it as it is.")
    else:
        notice = None
    saved = await save(request.session, _KIND, before, read.operator, is_dry_run=True, is_forced=True)
    if saved.causes and (
        problems := {field: each.why for each in saved.causes if (field := operator_form.field_of(each.field))}
    ):
        return await _edit_page(request, found, texts, problems, 422)
    verdict = await _may_change(request, found)
    rows = tuple((each.field, each.before or "not set", each.mine or "removed") for each in saved.changes)
    follows, sections = await _consequences(request, offer, read) if rows else ((), ())
    view = ChangeView(
        f"Change {name}",
        "These fields are written, and no others." if rows else "Nothing would be changed.",
        (("/operators", "Operators"), (f"/operators/{name}", name), ("", "Review")),
        f"/operators/{name}/edit",
        Button("Change", verdict.reason or ("" if rows else "Nothing would be changed."), verdict.command),
        f"/operators/{name}",
        notices=tuple(filter(None, (notice, *follows, *_foreign(found, read.operator)))),
        sections=(Section("Fields", columns=("Field", "Before", "After"), rows=rows), *sections),
        commands=(_edit_command(before, read.operator),) if rows and not change_refusal(found) else (),
        hidden=_hidden(texts, ("generation", _generation(found))),
        problem=saved.problem if rows else "",
    )
    return Page("change.html", view, f"Review the change of {name}", OPERATORS)


async def _consequences(
    request: PageRequest, offer: Offer, read: Read
) -> tuple[tuple[Notice, ...], tuple[Section, ...]]:
    """The version that a change leads to. The preview knows no versions that are excluded, and no way beside the edges."""
    if {"upgradeConstraintPolicy", "excludedVersions"} & set(read.operator["spec"]):
        return (), ()
    found = await preview(request, offer, read.operator, await _installed(request))
    notices = (*refusal_notices(found.refusal), *approval_notices(read, found))
    return notices, () if found.refusal else (found.section,)


def approval_notices(read: Read, resolved: Resolved) -> tuple[Notice, ...]:
    """The note about when a version is installed that a change leads to."""
    if not resolved.section.rows:
        return ()
    if read.operator["spec"].get("approval") == "Manual":
        return (Notice("info", "Another version is installed after your approval.", "It waits until then."),)
    return (Notice("warn", "Another version is installed at once.", "This Operator waits for no approval."),)


def _edit_command(before: Object, after: Object) -> Command:
    """The way to make the same change: a patch where fields are removed, else an apply."""
    if patch := removing_patch(changes(before, after)):
        return commands.patch(str(after["metadata"]["name"]), patch)
    return Command("kubectl", apply_command(_manifest(after), "--server-side"))


def _generation(found: Object) -> str:
    return str(found["metadata"].get("generation", ""))


def _manifest(operator: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{key: operator[key] for key in ("apiVersion", "kind", "spec")},
        "metadata": {"name": operator["metadata"]["name"]},
    }


def _foreign(found: Object, wanted: Object) -> tuple[Notice, ...]:
    """The managers of fields that the change takes over."""
    changed = {
        each.place[1] for each in changes(editable(found), wanted) if len(each.place) > 1 and each.place[0] == "spec"
    }
    managers = sorted(
        {
            str(entry.get("manager"))
            for entry in found["metadata"].get("managedFields") or ()
            if entry.get("manager") not in (FIELD_MANAGER, None)
            and not entry.get("subresource")
            and any(f"f:{name}" in ((entry.get("fieldsV1") or {}).get("f:spec") or {}) for name in changed)
        }
    )
    if not managers:
        return ()
    return (
        Notice(
            "warn",
            f"{', '.join(managers)} set some of these fields, and may set them again.",
            "Change them there if it is a tool.",
        ),
    )


async def apply_edit(request: PageRequest) -> Answer:
    """Write the changed fields, to the Operator that the review was about."""
    name = request.path["name"]
    found = await request.session.client.get(_KIND, name)
    if refusal := change_refusal(found):
        return Redirect(f"/operators/{name}", refusal, "warn")
    if request.form.one("generation") != _generation(found):
        return await review_edit(request)
    before = editable(found)
    read = operator_form.read({**_texts(request), "name": name}, before)
    if read.problems:
        return await _edit_page(request, found, _texts(request), read.problems, 422)
    saved = await save(request.session, _KIND, before, read.operator, is_forced=True)
    if saved.causes and (
        problems := {field: each.why for each in saved.causes if (field := operator_form.field_of(each.field))}
    ):
        return await _edit_page(request, found, _texts(request), problems, 422)
    flash = "" if saved.is_written else saved.problem or "; ".join(f"{each.field}: {each.why}" for each in saved.causes)
    return Redirect(
        f"/operators/{name}", flash or f"Operator {name} was changed.", "ok" if saved.is_written else "warn"
    )


_INSTALL: Final = "/catalog/{catalog}/{package}/install"
ROUTES = (
    Route("GET", _INSTALL, show),
    Route("GET", f"{_INSTALL}/basis", basis, (Watch(operators.KIND), Watch(catalogs.KIND))),
    Route("POST", f"{_INSTALL}/preview", show),
    Route("POST", f"{_INSTALL}/review", review),
    Route("POST", _INSTALL, create),
    Route("GET", "/operators/{name}/edit", edit),
    Route("POST", "/operators/{name}/edit/review", review_edit),
    Route("POST", "/operators/{name}/edit", apply_edit),
)
