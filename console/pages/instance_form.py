"""The form of an instance: a new one from an example, or a change of one. Form and YAML are two views of one document.

Each step is a request, so it works without JavaScript: rows are added, the view changes, the document is checked and written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson

from console.access import Ask
from console.commands import Command
from console.commands import apply as apply_command
from console.forms import descriptors, document
from console.forms.changes import editable
from console.forms.checks import name_problem, words_of
from console.forms.descriptors import Descriptor, Reference, Schema
from console.forms.examples import Example, begun, empty_template, examples
from console.forms.field import Field, Form
from console.forms.places import MISSING, value_at, with_value
from console.forms.schema_form import NOTHING, State, fields_by_error, innermost, schema_form
from console.forms.yaml_text import BadYaml, dump, load_object
from console.page import FIELD_MANAGER, Answer, BadInput, Page, PageRequest, Redirect
from console.pages.instance import PATH, place_of, read_kind
from console.pages.instances import SECTION, kind_name
from console.pages.kind_reader import NAMESPACES, Publisher, gathered, names_of, publisher_of, schema_of
from console.pages.saving import origin_of, save
from console.routes import Route
from console.views.changes import Button, Notice
from console.views.instances import FieldConflict, InstanceFormView, KindName, StartChoice, instance_path
from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError, Conflict, Forbidden, Invalid, NotFound
from olmkit.runtime.discovery import Discovery

NAME, NAMESPACE = "metadata.name", "metadata.namespace"
STATUS_CAUSES: Final = 422


@dataclass(frozen=True)
class Subject:
    """The subject of a form: the kind, its schema, its publisher's words, and the documents to begin with."""

    kind: Kind
    name: KindName
    schema: Schema
    publisher: Publisher
    descriptors: tuple[Descriptor, ...]
    starts: tuple[Example, ...] = ()
    origin: Object | None = None
    """The object that is changed; None for a new one."""

    def form(self, doc: Mapping[str, Any], origin: Mapping[str, Any], state: State) -> Form:
        """The form of a document."""
        return schema_form(self.schema, self.descriptors, doc, origin, state)


@dataclass
class Draft:
    """The document between two requests, and what is wrong with it."""

    document: dict[str, Any]
    origin: Mapping[str, Any]
    start: int
    rows: dict[str, int]
    problems: dict[str, str]
    notices: list[Notice]
    yaml: str | None = None
    """The text of the YAML view; None in the form."""
    yaml_problem: str = ""
    yaml_line: int = 0
    has_conflicts: bool = False
    """True if others manage fields that it changes."""
    sent: Mapping[str, tuple[str, ...]] | None = None


async def _subject(request: PageRequest) -> Subject:
    kind = await read_kind(request)
    schema, publisher = await gathered([schema_of(request.session, kind), publisher_of(request.session, kind)])
    starts = (
        *examples(publisher.annotations, kind.api_version, kind.kind),
        empty_template(schema, kind.api_version, kind.kind),
    )
    name = kind_name(kind, publisher.title)
    return Subject(kind, name, schema, publisher, descriptors.read(publisher.owned, "spec"), starts)


# --- a new instance


async def new(request: PageRequest) -> Answer:
    """The form of a new instance."""
    subject = await _subject(request)
    start = request.query.number("example", 0, 0, len(subject.starts) - 1)
    doc = begun(subject.starts[start].document, _namespace(request, subject))
    return await _new_page(request, subject, Draft(doc, doc, start, {}, {}, []))


async def post_new(request: PageRequest) -> Answer:
    """One step of the form of a new instance; in the end it is created."""
    subject = await _subject(request)
    start = request.form.number("example", 0, 0, len(subject.starts) - 1)
    origin = begun(subject.starts[start].document, _namespace(request, subject))
    draft = await asyncio.to_thread(_read, request, subject, origin, start)
    for field, name in ((NAME, "name"), (NAMESPACE, "namespace")):
        if field in request.form and draft.yaml is None:
            text = request.form.one(field).strip()
            draft.document = with_value(draft.document, ("metadata", name), text or MISSING)
    action = request.form.one("action")
    if action in ("create", "check") and not draft.problems and not draft.yaml_problem:
        answer = await _create(request, subject, draft, is_check=action == "check")
        if answer is not None:
            return answer
    return await _new_page(request, subject, draft)


def _namespace(request: PageRequest, subject: Subject) -> str:
    if not subject.kind.namespaced:
        return ""
    watched = subject.publisher.watched
    return request.namespace or (watched[0] if watched else "default")


async def _namespaces(request: PageRequest, subject: Subject) -> tuple[str, ...] | None:
    """The namespaces to choose from: those that the Operator watches if these are some, else all; None if they may not be
    listed."""
    listed = await names_of(request.session, NAMESPACES, None)
    watched = subject.publisher.watched
    return listed if listed is None or watched is None else tuple(each for each in listed if each in watched)


async def _create(request: PageRequest, subject: Subject, draft: Draft, *, is_check: bool) -> Answer | None:
    """Create the document; None if that was refused, or only checked: the draft says it."""
    metadata = draft.document.get("metadata") or {}
    name, namespace = metadata.get("name"), metadata.get("namespace")
    problem = "" if metadata.get("generateName") and not name else name_problem(str(name or ""))
    if problem:
        draft.problems[NAME] = problem
        return None
    query = {"fieldManager": FIELD_MANAGER, "dryRun": "All" if is_check else None}
    path = subject.kind.path(namespace if subject.kind.namespaced else None)
    if subject.kind.namespaced and not namespace:
        draft.problems[NAMESPACE] = "is required"
        return None
    try:
        made = await request.session.client.request("POST", path, query=query, body=draft.document)
    except ApiError as error:
        _refused(subject, draft, error)
        return None
    if is_check:
        draft.notices.append(Notice("ok", "The API server would create this.", "Nothing was created."))
        return None
    named = made["metadata"]["name"]
    to = instance_path(subject.name.path, str(namespace) if subject.kind.namespaced else "", named)
    return Redirect(to, f"{subject.kind.kind} {named} was created.")


def _refused(subject: Subject, draft: Draft, error: ApiError) -> None:
    """Put the words of the API server at the fields that they are about, else above the form. Raises the error if it is about
    something else."""
    if isinstance(error, Conflict):
        draft.problems[NAME] = "there is one of this name already"
        return
    if isinstance(error, NotFound):
        draft.problems[NAMESPACE] = error.message
        return
    if not isinstance(error, Invalid | Forbidden) or error.status == 401:
        raise error
    fields = fields_by_error(subject.form(draft.document, draft.origin, State(draft.rows, {})))
    rest = []
    for cause in error.causes:
        if cause.field == NAME:
            draft.problems[NAME] = cause.message
        elif (found := innermost(fields, cause.field, words_of(cause.message))) is not None:
            draft.problems[found[0].name] = found[1]
        else:
            rest.append(f"{cause.field}: {words_of(cause.message)}")
    if not error.causes:
        rest.append(error.message)
    draft.notices += [Notice("bad", "The API server refuses this.", each) for each in rest[:20]]


async def _new_page(request: PageRequest, subject: Subject, draft: Draft) -> Page:
    verdict = await request.access.may(
        Ask("create", subject.kind, _text(draft.document, "namespace") or None if subject.kind.namespaced else None)
    )
    starts = tuple(
        StartChoice(number, each.title, each.text, number == draft.start, each.is_first)
        for number, each in enumerate(subject.starts)
    )
    by = f", provided by {subject.publisher.operator}" if subject.publisher.operator else ""
    view = await _view(request, subject, draft)
    view = replace(
        view,
        heading=f"Create {_article(subject.name.title)} {subject.name.title}",
        sub=f"{subject.kind.api_version} {subject.kind.kind}{by}. Form and YAML are the same document.",
        action=f"{subject.name.path}/new",
        back=subject.name.path,
        is_new=True,
        starts=starts,
        button=Button("Create", verdict.reason, verdict.command, name="action", value="create"),
        namespaces=await _namespaces(request, subject) if subject.kind.namespaced else None,
        watched=subject.publisher.watched or (),
        commands=(Command("kubectl", await asyncio.to_thread(lambda: apply_command(_shown(subject, draft)))),),
    )
    return _page(view, draft)


def _article(title: str) -> str:
    return "an" if title[:1].lower() in "aeio" else "a"


# --- an instance that exists


async def edit(request: PageRequest) -> Answer:
    """The form of an instance as it is."""
    subject, obj = await _existing(request)
    return await _edit_page(request, subject, Draft(dict(obj), obj, 0, {}, {}, []), obj)


async def post_edit(request: PageRequest) -> Answer:
    """One step of the form of an instance; in the end the changed fields are written."""
    subject, obj = await _existing(request)
    origin = origin_of(request.form.one("origin"))
    known = document.restored(subject.form(obj, obj, NOTHING), origin, obj)
    draft = await asyncio.to_thread(_read, request, subject, known, 0)
    action = request.form.one("action")
    if action in ("save", "check", "force") and not draft.problems and not draft.yaml_problem:
        saved = await save(
            request.session,
            subject.kind,
            known,
            draft.document,
            is_forced=action == "force",
            is_dry_run=action == "check",
        )
        if saved.is_written and action != "check":
            return Redirect(
                request.here.partition("?")[0].removesuffix("/edit"),
                f"{subject.kind.kind} {request.path['name']} was changed.",
            )
        fields = fields_by_error(subject.form(draft.document, known, State(draft.rows, {})))
        for each in saved.causes:
            found = innermost(fields, each.field, words_of(each.why))
            draft.problems |= {found[0].name: found[1]} if found else {}
            draft.notices += [] if found else [Notice("bad", each.field, words_of(each.why))]
        draft.has_conflicts = bool(saved.conflicts)
        draft.notices += [_conflict(fields.get(each.field), each) for each in saved.conflicts]
        draft.notices += [Notice("warn", f"{each.field} was changed meanwhile.", each.why) for each in saved.moved]
        draft.notices += [Notice("warn", saved.problem)] if saved.problem else []
        if saved.is_written:
            draft.notices.append(Notice("ok", "The API server would take this.", "Nothing was changed."))
        if saved.moved:
            draft.document, draft.origin, obj = dict(saved.document), saved.origin, saved.origin
    return await _edit_page(request, subject, draft, obj)


def _conflict(field: Field | None, found: FieldConflict) -> Notice:
    label = f"{field.label} ({found.field})" if field else found.field
    return Notice("warn", f"{label}: {found.why}.", "Take it over to change it here; its manager may set it again.")


async def _existing(request: PageRequest) -> tuple[Subject, Object]:
    subject = await _subject(request)
    namespace, name = place_of(request)
    obj = editable(await request.session.client.get(subject.kind, name, namespace))
    obj.pop("status", None)
    return replace(subject, origin=obj), obj


async def _edit_page(request: PageRequest, subject: Subject, draft: Draft, obj: Object) -> Page:
    namespace, name = place_of(request)
    verdict = await request.access.may(Ask("patch", subject.kind, namespace, name))
    view = await _view(request, subject, draft)
    path = instance_path(subject.name.path, namespace or "", name)
    hidden = document.hidden(subject.form(draft.origin, draft.origin, NOTHING), draft.origin)
    view = replace(
        view,
        heading=f"Edit {name}",
        sub=f"{subject.kind.api_version} {subject.kind.kind}. Only fields that you change are written.",
        action=f"{path}/edit",
        back=path,
        origin=orjson.dumps(hidden).decode(),
        button=Button("Save", verdict.reason, verdict.command, name="action", value="save"),
        take_over=Button("Take over and save", verdict.reason, verdict.command, "danger", name="action", value="force")
        if draft.has_conflicts
        else None,
    )
    return _page(view, draft)


# --- both


def _read(request: PageRequest, subject: Subject, origin: Mapping[str, Any], start: int) -> Draft:
    """The draft of a request, after the step that it asks for, but for writing."""
    sent = {name: request.form.all(name) for name, _ in request.form}
    action = request.form.one("action")
    if "yaml" in request.form:
        return _read_yaml(request, subject, Draft(dict(origin), origin, start, {}, {}, [], request.form.one("yaml")))
    base = _base(request.form.one("base"), origin)
    state = State(document.rows_of(sent), {})
    base = document.restored(subject.form(base, origin, state), base, origin)
    form = subject.form(base, origin, state)
    filled = document.fill(form, base, sent)
    draft = Draft(filled.document, origin, start, document.rows_of(sent), dict(filled.problems), [], sent=sent)
    step, _, name = action.partition(":")
    if step == "add":
        draft.rows = document.with_row(form, draft.rows, name)
    elif step == "remove":
        again = subject.form(draft.document, origin, State(draft.rows, {}))
        draft.document = document.without_row(again, draft.document, name)
        draft.rows = document.fewer_rows(draft.rows, name)
    if step in ("add", "remove"):
        draft.problems = {key: text for key, text in draft.problems.items() if text != document.REQUIRED}
    if step == "yaml":
        draft.yaml = dump(_shown(subject, draft))
        draft.problems = {}
        if draft.document != _shown(subject, draft):
            draft.notices.append(Notice("info", "Passwords are left out.", "Write them in the form, or into the YAML."))
    return draft


def _read_yaml(request: PageRequest, subject: Subject, draft: Draft) -> Draft:
    try:
        found = load_object(draft.yaml or "")
    except BadYaml as error:
        draft.yaml_problem, draft.yaml_line = error.message, error.line
        return draft
    wanted = (subject.kind.api_version, subject.kind.kind)
    if (found.get("apiVersion"), found.get("kind")) != wanted or not isinstance(found.get("metadata"), dict):
        draft.yaml_problem = f"apiVersion must be {wanted[0]}, kind {wanted[1]}, and metadata an object"
        return draft
    if subject.origin is not None and found["metadata"].get("name") != request.path["name"]:
        draft.yaml_problem = f"metadata.name must stay {request.path['name']}"
        return draft
    draft.document = found
    if request.form.one("action") == "form":
        draft.yaml = None
    return draft


def _base(text: str, origin: Mapping[str, Any]) -> dict[str, Any]:
    if not text:
        return dict(origin)
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("metadata", {}), dict):
        raise BadInput("base", "it is no object: load the page again")
    return found


def _shown(subject: Subject, draft: Draft) -> dict[str, Any]:
    """The document without passwords."""
    return document.hidden(subject.form(draft.document, draft.origin, NOTHING), draft.document)


async def _view(request: PageRequest, subject: Subject, draft: Draft) -> InstanceFormView:
    """The part that both forms have in common."""
    state = State(draft.rows, draft.problems)
    shown = _shown(subject, draft)
    form = subject.form(draft.document, draft.origin, state)
    if draft.sent is not None:
        form = document.as_sent(form, draft.sent, draft.problems)
    namespace = _text(draft.document, "namespace")
    names = await _names(request, form, namespace) if draft.yaml is None else {}
    known = {each.name: each for each in form.all()}
    listed = tuple((known[name].id, known[name].label, text) for name, text in draft.problems.items() if name in known)
    notices = draft.notices + [
        Notice("info", "The publisher's words are missing.", text) for text in [subject.publisher.problem] if text
    ]
    if not subject.schema:
        notices.append(Notice("info", "The schema of this kind may not be read.", "Write the YAML."))
    return InstanceFormView(
        kind=subject.name,
        heading="",
        sub="",
        action="",
        back="",
        name=_text(draft.document, "name"),
        namespace=namespace,
        is_new=False,
        form=form if draft.yaml is None else None,
        yaml=await asyncio.to_thread(dump, shown) if draft.yaml is None else draft.yaml,
        base=orjson.dumps(shown).decode(),
        origin="",
        rows=tuple(draft.rows.items()),
        names=names,
        namespaces=None,
        button=Button("Save"),
        notices=tuple(notices),
        problems=listed,
        name_problem=draft.problems.get(NAME, ""),
        namespace_problem=draft.problems.get(NAMESPACE, ""),
        yaml_problem=draft.yaml_problem,
        yaml_line=draft.yaml_line,
    )


def _page(view: InstanceFormView, draft: Draft) -> Page:
    is_wrong = bool(draft.problems or draft.yaml_problem or any(each.kind == "bad" for each in draft.notices))
    return Page(
        "instance-form.html",
        view,
        view.heading,
        SECTION,
        status=STATUS_CAUSES if is_wrong else 200,
        scripts=("form.js", "editor.js") if view.form is None else ("form.js",),
    )


async def _names(request: PageRequest, form: Form, namespace: str) -> dict[str, tuple[str, ...] | None]:
    """The names that can be chosen, by reference."""
    if not form.references:
        return {}
    discovery = await request.session.client.discover()
    wanted = [(each, kind) for each in form.references[:20] if (kind := _kind(discovery, each)) is not None]
    found = await gathered(
        [names_of(request.session, kind, namespace or None, each.label_selector) for each, kind in wanted]
    )
    return {str(each): names for (each, _), names in zip(wanted, found, strict=True)}


def _kind(discovery: Discovery, reference: Reference) -> Kind | None:
    if reference.version:
        version = f"{reference.group}/{reference.version}" if reference.group else reference.version
        return discovery.find(version, reference.kind)
    groups = ("", "apps", "batch", "storage.k8s.io", "networking.k8s.io", "rbac.authorization.k8s.io")
    return next((kind for group in groups if (kind := discovery.kinds.get((group, reference.kind)))), None)


def _text(doc: Mapping[str, Any], key: str) -> str:
    value = value_at(doc, ("metadata", key))
    return value if isinstance(value, str) else ""


_NEW: Final = "/instances/{group}/{version}/{plural}/new"
ROUTES = (
    Route("GET", _NEW, new),
    Route("POST", _NEW, post_new),
    Route("POST", f"{_NEW}/convert", post_new),
    Route("GET", f"{PATH}/edit", edit),
    Route("POST", f"{PATH}/edit", post_edit),
)
