"""Catalogs are added, changed, checked now, and deleted."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from console import commands
from console.access import Ask
from console.commands import Command, delivery_commands
from console.forms import catalog_form
from console.forms.changes import editable
from console.forms.yaml_text import dump
from console.page import FIELD_MANAGER, Answer, Page, PageRequest, Redirect
from console.pages.kind_reader import gathered, names_of
from console.pages.saving import save
from console.routes import Route
from console.views.changes import Button, ChangeView, Notice, Section
from console.views.install import CatalogFormView
from olmctl.questions.operator_state import part, text_at
from olmctl.questions.owners import change_refusal, deletion_refusal
from olmkit.api import catalogs, operators
from olmkit.api.catalogs import REFRESH_ANNOTATION
from olmkit.api.meta import Kind, Object, apply_precondition
from olmkit.errors import ApiError, Conflict, Invalid

SECTION: Final = "Catalogs"
_KIND: Final = catalogs.KIND
SECRETS: Final = Kind("", "v1", "Secret", "secrets", namespaced=True)
CONFIG_MAPS: Final = Kind("", "v1", "ConfigMap", "configmaps", namespaced=True)


def _texts(request: PageRequest) -> dict[str, str]:
    return {name: request.form.one(name) for name in catalog_form.NAMES if name in request.form}


async def new(request: PageRequest) -> Answer:
    """The form of a new Catalog."""
    return await _form_page(request, {}, {}, {})


async def _form_page(
    request: PageRequest,
    before: Object,
    texts: Mapping[str, str],
    problems: Mapping[str, str],
    *,
    notices: tuple[Notice, ...] = (),
    status: int = 200,
) -> Page:
    name = text_at(before, "metadata", "name")
    shown = {**catalog_form.texts_of(before), **texts}
    read = catalog_form.read(shown, before)
    verb = "patch" if before else "create"
    verdict = (await request.access.may(Ask(verb, _KIND, name=name))).unless(change_refusal(before))
    system = await request.session.system_namespace()
    secrets, maps, known = await gathered(
        [
            names_of(request.session, SECRETS, system),
            names_of(request.session, CONFIG_MAPS, system),
            _priorities(request),
        ]
    )
    priority = int(shown["priority"]) if "priority" not in read.problems else 0
    text = dump(_manifest(read.catalog))
    view = CatalogFormView(
        f"Change {name}" if before else "Add a catalog",
        "Where packages come from. When two catalogs offer a package, the one with the higher priority counts.",
        f"/catalogs/{name}/edit" if before else "/catalogs/new",
        f"/catalogs/{name}" if before else "/catalogs",
        shown,
        {**dict.fromkeys(catalog_form.NAMES, ""), **problems},
        not before,
        secrets,
        maps,
        catalog_form.order(known, shown["name"], priority),
        system,
        Button("Save" if before else "Add the catalog", verdict.reason, verdict.command, name="action", value="save"),
        notices,
        (
            Command("kubectl", commands.here_document("kubectl apply -f -", text)),
            *delivery_commands(f"catalogs/{shown['name'] or 'catalog'}.yaml", text, shown["name"] or "catalog"),
        ),
        (("generation", str(part(before, "metadata", "generation"))),) if before else (),
    )
    return Page("catalog-form.html", view, view.heading, SECTION, status=status, scripts=("form.js",))


def _manifest(catalog: Object) -> Object:
    spec = catalog.get("spec") or {}
    return {
        "apiVersion": _KIND.api_version,
        "kind": "Catalog",
        "metadata": {"name": text_at(catalog, "metadata", "name")},
        "spec": spec,
    }


async def _priorities(request: PageRequest) -> dict[str, int]:
    try:
        found, _ = await request.session.client.list(_KIND)
    except ApiError:
        return {}
    return {each["metadata"]["name"]: part(each, "spec", "priority") or 0 for each in found}


def _problems(causes: list[tuple[str, str]], kind: str) -> dict[str, str]:
    found = {catalog_form.field_of(field, kind): text for field, text in causes}
    return {name: text for name, text in found.items() if name}


async def create(request: PageRequest) -> Answer:
    """Check or create the Catalog of the form."""
    texts = _texts(request)
    read = catalog_form.read(texts, {})
    if read.problems:
        return await _form_page(request, {}, texts, read.problems, status=422)
    is_check = request.form.one("action") == "check"
    body = {**read.catalog, "metadata": {**read.catalog["metadata"], **apply_precondition(None)}}
    try:
        await request.session.client.apply(_KIND, body, FIELD_MANAGER, force=False, dry_run=is_check)
    except Conflict:
        return await _form_page(request, {}, texts, {"name": "a Catalog of this name exists already"}, status=409)
    except Invalid as error:
        problems = _problems([(each.field, each.message) for each in error.causes], texts.get("type", "image"))
        notices = () if problems else (Notice("bad", "The API server refuses this.", error.message),)
        return await _form_page(request, {}, texts, problems, notices=notices, status=422)
    if is_check:
        notice = Notice("ok", "The API server would create this.", "Nothing was created.")
        return await _form_page(request, {}, texts, {}, notices=(notice,))
    name = read.catalog["metadata"]["name"]
    return Redirect(f"/catalogs/{name}", f"Catalog {name} was added: it is being read.")


async def edit(request: PageRequest) -> Answer:
    """The form of a Catalog as it is."""
    found = editable(await request.session.client.get(_KIND, request.path["name"]))
    return await _form_page(request, found, {}, {})


async def apply_edit(request: PageRequest) -> Answer:
    """Check or write the fields that the form changes."""
    found = editable(await request.session.client.get(_KIND, request.path["name"]))
    if refusal := change_refusal(found):
        return Redirect(f"/catalogs/{request.path['name']}", refusal, "warn")
    texts = {**_texts(request), "name": request.path["name"]}
    read = catalog_form.read(texts, found)
    if read.problems:
        return await _form_page(request, found, texts, read.problems, status=422)
    if request.form.one("generation") != str(found["metadata"]["generation"]):
        notice = Notice(
            "warn", "The Catalog was changed meanwhile.", "Nothing was written. These are your texts; save them again."
        )
        return await _form_page(request, found, texts, {}, notices=(notice,), status=409)
    is_check, is_forced = (request.form.one("action") == each for each in ("check", "force"))
    saved = await save(request.session, _KIND, found, read.catalog, is_forced=is_forced, is_dry_run=is_check)
    if saved.is_written and not is_check:
        return Redirect(f"/catalogs/{request.path['name']}", f"Catalog {request.path['name']} was changed.")
    problems = _problems([(each.field, each.why) for each in saved.causes], str(texts.get("type") or ""))
    notices = [Notice("warn", each.field, f"{each.why}. Take it over to change it here.") for each in saved.conflicts]
    notices += [Notice("bad", each.field, each.why) for each in saved.causes] if not problems else []
    notices += [Notice("warn", saved.problem)] if saved.problem else []
    notices += [Notice("ok", "The API server would take this.", "Nothing was changed.")] if saved.is_written else []
    status = 200 if saved.is_written else 409 if saved.conflicts else 422
    return await _form_page(request, found, texts, problems, notices=tuple(notices), status=status)


async def refresh(request: PageRequest) -> Answer:
    """Ask for a check of the source now."""
    name, now = request.path["name"], datetime.now(UTC).isoformat(timespec="seconds")
    await request.session.client.patch(_KIND, name, {"metadata": {"annotations": {REFRESH_ANNOTATION: now}}})
    back = "/catalogs" if request.form.one("back") == "list" else f"/catalogs/{name}"
    return Redirect(back, f"Catalog {name} is being checked.")


async def ask_delete(request: PageRequest) -> Answer:
    """The page of what becomes of the Operators that came from the Catalog."""
    name = request.path["name"]
    found = await request.session.client.get(_KIND, name)
    listed, _ = await request.session.client.list(operators.KIND)
    ours = [each for each in listed if text_at(each, "status", "installed", "catalog") == name]
    rows = tuple(
        (str(each["metadata"]["name"]), text_at(each, "status", "installed", "version"), _fate(each, name))
        for each in ours
    )
    verdict = (await request.access.may(Ask("delete", _KIND, name=name))).unless(deletion_refusal(found))
    lines = () if rows else ("No Operator was installed from it.",)
    view = ChangeView(
        f"Delete catalog {name}",
        "Its packages are not offered any more. What is installed stays.",
        (("/catalogs", "Catalogs"), (f"/catalogs/{name}", name), ("", "Delete")),
        f"/catalogs/{name}/delete",
        Button("Delete", verdict.reason, verdict.command, "danger"),
        f"/catalogs/{name}",
        sections=(Section("Operators that came from it", lines, columns=("Operator", "Version", "Then"), rows=rows),),
        commands=() if deletion_refusal(found) else commands.delete(_KIND, name),
        hidden=(("uid", text_at(found, "metadata", "uid")),),
    )
    return Page("change.html", view, view.heading, SECTION)


def _fate(operator: Object, catalog: str) -> str:
    labels = part(operator, "spec", "catalogSelector", "matchLabels") or {}
    if labels.get(catalogs.NAME_LABEL) == catalog:
        return "stays as it is: its spec names this catalog alone, so there are no upgrades"
    return "stays as it is; a catalog that offers the same bundle takes over, else there are no upgrades"


async def delete(request: PageRequest) -> Answer:
    """Delete the Catalog that the page was about."""
    name = request.path["name"]
    if refusal := deletion_refusal(await request.session.client.get(_KIND, name)):
        return Redirect(f"/catalogs/{name}", refusal, "warn")
    left = await request.session.client.delete(_KIND, name, uid=request.form.one("uid") or None)
    return Redirect("/catalogs", f"Catalog {name} {'was' if left is None else 'is being'} deleted.")


_PATH: Final = "/catalogs/{name}"
ROUTES = (
    Route("GET", "/catalogs/new", new),
    Route("POST", "/catalogs/new", create),
    Route("GET", f"{_PATH}/edit", edit),
    Route("POST", f"{_PATH}/edit", apply_edit),
    Route("POST", f"{_PATH}/refresh", refresh),
    Route("GET", f"{_PATH}/delete", ask_delete),
    Route("POST", f"{_PATH}/delete", delete),
)
