"""One instance: what its publisher says is worth to see, its Events, the objects that it owns, its YAML; and its deletion."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from console.access import Ask
from console.commands import delete as delete_command
from console.forms.changes import editable
from console.forms.yaml_text import dump
from console.page import Answer, Page, PageRequest, Raw, Redirect
from console.pages.events import events_about
from console.pages.instance_reader import Children, read_children, read_columns, read_events
from console.pages.instances import SECTION, kind_name
from console.pages.kind_reader import Publisher, known_kind, publisher_of, served_kind
from console.routes import Route, Watch
from console.views.changes import Button, ChangeView
from console.views.instance_facts import conditions_of, facts_of, own_facts, state_of
from console.views.instances import NO_NAMESPACE, InstanceView, instance_path
from olmctl.questions.operator_state import text_at
from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError

PATH: Final = "/instances/{group}/{version}/{plural}/{namespace}/{name}"


async def read_kind(request: PageRequest) -> Kind:
    """The kind of the path. Raises NotThere."""
    return await served_kind(request.session, *(request.path[key] for key in ("group", "version", "plural")))


def place_of(request: PageRequest) -> tuple[str | None, str]:
    """The namespace and the name of the path."""
    namespace = request.path["namespace"]
    return (None if namespace == NO_NAMESPACE else namespace), request.path["name"]


async def instance_view(request: PageRequest, tab: str) -> tuple[InstanceView, Object, Publisher, Kind]:
    """The part that all pages of an instance show, with the object, its publisher's words and its kind. Raises NotThere."""
    kind = await read_kind(request)
    namespace, name = place_of(request)
    obj, publisher = await asyncio.gather(
        request.session.client.get(kind, name, namespace), publisher_of(request.session, kind)
    )
    may_patch, may_delete = await request.access.each(
        Ask("patch", kind, namespace, name), Ask("delete", kind, namespace, name)
    )
    shown = kind_name(kind, publisher.title)
    by = f", provided by {publisher.operator}" if publisher.operator else ""
    view = InstanceView(
        shown,
        name,
        namespace or "",
        tab,
        state_of(obj),
        f"{kind.api_version} {kind.kind}{by}.",
        Button("Edit", may_patch.reason, may_patch.command),
        Button("Save", may_patch.reason, may_patch.command, name="action", value="save"),
        Button("Delete", may_delete.reason, may_delete.command, "danger"),
    )
    return view, obj, publisher, kind


def page_of(view: InstanceView) -> Page:
    """The page of a view."""
    scripts = ("editor.js",) if view.tab == "yaml" else ()
    return Page("instance.html", view, f"{view.name}, {view.kind.title}", SECTION, scripts=scripts)


async def overview(request: PageRequest) -> Answer:
    """The facts that the publisher names, the conditions and the newest Events."""
    view, obj, publisher, kind = await instance_view(request, "overview")
    problems: tuple[str, ...] = (publisher.problem,) if publisher.problem else ()
    try:
        happenings = (await read_events(request.session, obj))[:5]
    except ApiError as error:
        happenings, problems = (), (*problems, f"Events cannot be listed: {error.message}")
    facts = facts_of(obj, publisher.owned, request.form.one("reveal"))
    if not facts:
        facts = own_facts(obj, await read_columns(request.session, kind, view.name, view.namespace or None))
    return page_of(replace(view, facts=facts, conditions=conditions_of(obj), events=happenings, problems=problems))


async def events(request: PageRequest) -> Answer:
    """The Events about it."""
    view, obj, _, _ = await instance_view(request, "events")
    return page_of(replace(view, events=await read_events(request.session, obj)))


async def objects(request: PageRequest) -> Answer:
    """The objects that it owns."""
    view, obj, publisher, _ = await instance_view(request, "objects")
    found: Children = await read_children(request.session, obj, _resources(publisher.owned))
    cut = ("There are more objects than these.",) if found.is_cut else ()
    return page_of(replace(view, children=found.children, problems=(*found.problems, *cut)))


async def raw_yaml(request: PageRequest) -> Answer:
    """Its YAML as a file."""
    kind = await read_kind(request)
    namespace, name = place_of(request)
    obj = await request.session.client.get(kind, name, namespace)
    text = await asyncio.to_thread(dump, editable(obj))
    return Raw(
        text.encode(), "text/plain; charset=utf-8", {"Content-Disposition": f'attachment; filename="{name}.yaml"'}
    )


def _resources(owned: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(group, kind) that the publisher names; the group is that of `name`, if it has one."""
    listed = owned.get("resources")
    found = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    return [(text_at(each, "name").partition(".")[2], text_at(each, "kind")) for each in found]


def _followed(request: PageRequest) -> tuple[Watch, ...]:
    """The instance, if its kind is known."""
    kind = known_kind(*(request.path[key] for key in ("group", "version", "plural")))
    namespace, name = place_of(request)
    if kind is None or kind.namespaced != (namespace is not None):
        return ()
    return Watch(kind, namespace, name), events_about(name, namespace)


async def ask_delete(request: PageRequest) -> Answer:
    """The review of the deletion."""
    view, obj, _, kind = await instance_view(request, "overview")
    finalizers = (obj.get("metadata") or {}).get("finalizers") or ()
    lines = [f"{kind.kind} {view.name} will be deleted, and with it the objects that it owns."]
    if finalizers:
        lines.append("It has finalizers, so it stays until its controller has cleaned up.")
    change = ChangeView(
        f"Delete {view.name}",
        " ".join(lines),
        (("/instances", "Instances"), (view.kind.path, view.kind.title), (view.path, view.name), ("", "Delete")),
        f"{view.path}/delete",
        Button("Delete", view.delete.reason, view.delete.command, "danger"),
        view.path,
        commands=delete_command(kind, view.name, view.namespace),
        hidden=(("uid", text_at(obj, "metadata", "uid")),),
    )
    return Page("change.html", change, f"Delete {view.name}", SECTION)


async def delete(request: PageRequest) -> Answer:
    """Delete it, if it is the one that the review was about."""
    kind = await read_kind(request)
    namespace, name = place_of(request)
    left = await request.session.client.delete(kind, name, namespace, uid=request.form.one("uid") or None)
    path = kind_name(kind).path
    if left is None:
        return Redirect(path, f"{kind.kind} {name} was deleted.")
    return Redirect(instance_path(path, namespace or "", name), f"{kind.kind} {name} is being deleted.")


ROUTES = (
    Route("GET", PATH, overview, _followed),
    Route("POST", f"{PATH}/reveal", overview),
    Route("GET", f"{PATH}/events", events, _followed),
    Route("GET", f"{PATH}/objects", objects, _followed),
    Route("GET", f"{PATH}/yaml/download", raw_yaml),
    Route("GET", f"{PATH}/delete", ask_delete),
    Route("POST", f"{PATH}/delete", delete),
)
