"""The YAML of an instance, which a person edits in a text area, and what comes of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import orjson

from console.forms.changes import editable
from console.forms.yaml_lines import lines_of
from console.forms.yaml_text import BadYaml, dump, load_object
from console.page import Answer, Page, PageRequest, Redirect
from console.pages.instance import PATH, instance_view, page_of, place_of, read_kind
from console.pages.saving import Saved, origin_of, save
from console.routes import Route
from console.views.instances import EditorView, FieldConflict, InstanceView
from olmkit.api.meta import Kind, Object


async def show(request: PageRequest) -> Answer:
    """The YAML as it is."""
    view, obj, _, _ = await instance_view(request, "yaml")
    shown = editable(obj)
    return page_of(replace(view, editor=EditorView(await asyncio.to_thread(dump, shown), _json(shown))))


async def post(request: PageRequest) -> Answer:
    """Check or save the text."""
    kind = await read_kind(request)
    origin, text = origin_of(request.form.one("origin")), request.form.one("text")
    is_check = request.form.one("action") == "check"
    editor = EditorView(text, _json(origin), is_check=is_check)
    try:
        document = await asyncio.to_thread(load_object, text)
    except BadYaml as error:
        return await _again(request, replace(editor, problem=error.message, line=error.line), 422)
    if problem := _identity_problem(request, kind, origin, document):
        return await _again(request, replace(editor, problem=problem), 422)
    is_forced = request.form.one("action") == "force"
    saved = await save(request.session, kind, origin, document, is_forced=is_forced, is_dry_run=is_check)
    if saved.is_written and not is_check:
        return Redirect(request.here.partition("?")[0], f"{kind.kind} {request.path['name']} was changed.")
    editor = await asyncio.to_thread(_editor, saved, origin, text, is_check=is_check)
    return await _again(request, editor, 200 if saved.is_written else 409)


def _editor(saved: Saved, origin: Object, text: str, *, is_check: bool) -> EditorView:
    is_moved = bool(saved.moved)
    shown = dump(saved.document) if is_moved else text
    return EditorView(
        shown,
        _json(saved.origin if is_moved else origin),
        saved.problem,
        causes=_with_lines(shown, saved.causes),
        conflicts=_with_lines(shown, saved.conflicts),
        moved=_with_lines(shown, saved.moved),
        changes=saved.changes,
        is_checked=is_check and saved.is_written,
        is_check=is_check,
    )


def _with_lines(text: str, found: tuple[FieldConflict, ...]) -> tuple[FieldConflict, ...]:
    """The fields with their lines in the text."""
    lines = lines_of(text, {each.field for each in found}) if found else {}
    return tuple(replace(each, line=lines[each.field]) for each in found)


async def _again(request: PageRequest, editor: EditorView, status: int) -> Page:
    view: InstanceView = (await instance_view(request, "yaml"))[0]
    return replace(page_of(replace(view, editor=editor)), status=status)


def _identity_problem(request: PageRequest, kind: Kind, origin: Object, document: Object) -> str:
    """The reason why the text is of another object than the page; empty if it is not."""
    namespace, name = place_of(request)
    metadata = document.get("metadata")
    found = metadata if isinstance(metadata, dict) else {}
    wanted = (kind.api_version, kind.kind, name, namespace)
    of_origin = (origin["metadata"]["name"], origin["metadata"].get("namespace"))
    if (document.get("apiVersion"), document.get("kind"), found.get("name"), found.get("namespace")) != wanted:
        where = f" in namespace {namespace}" if namespace else ""
        return f"apiVersion, kind, name and namespace must stay: {kind.api_version} {kind.kind} {name}{where}"
    return "" if of_origin == (name, namespace) else "the page was loaded for another object: load it again"


def _json(obj: Object) -> str:
    return orjson.dumps(obj).decode()


ROUTES = (
    Route("GET", f"{PATH}/yaml", show),
    Route("POST", f"{PATH}/yaml", post),
)
