"""The lists of instances: of all kinds of the installed Operators, and of one kind."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from console.access import Ask
from console.page import Answer, Page, PageRequest
from console.pages.instance_reader import read_table
from console.pages.kind_reader import apis_of, gathered, known_kind, publisher_in, publisher_of, served_kind
from console.pages.setup_help import on_suite
from console.routes import Route, Watch
from console.views.changes import Button, Notice
from console.views.instances import InstanceTable, KindName, ListView, OverviewView
from olmctl.questions.operator_state import text_at
from olmkit.api import operators
from olmkit.api.meta import Kind, Object
from olmkit.runtime.discovery import Discovery

SECTION: Final = "Instances"
ROWS_OF_OVERVIEW: Final = 10
MAX_KINDS: Final = 100
"""Kinds of the overview; it names how many are left out."""
AGAIN_SECONDS: Final = 15.0
"""The overview is read again after this time while a kind of it cannot be listed."""


def kind_name(kind: Kind, title: str = "") -> KindName:
    """The kind as views have it."""
    return KindName(kind.group, kind.version, kind.plural, kind.kind, title or kind.kind, kind.namespaced)


async def new_button(request: PageRequest, kind: Kind, title: str) -> Button:
    """The link to the form of a new instance, with the reason if the user may not create one."""
    verdict = await request.access.may(Ask("create", kind, request.namespace if kind.namespaced else None))
    return Button(f"Create {title or kind.kind}", verdict.reason, verdict.command)


async def overview(request: PageRequest) -> Answer:
    """The kinds that installed Operators provide, with their instances in one namespace or all."""
    found, _ = await request.session.client.list(operators.KIND)
    discovery = await request.session.client.discover()
    wanted = _provided(found, discovery)
    tables = await gathered([_table(request, kind, title, operator) for kind, title, operator in wanted[:MAX_KINDS]])
    shown = tuple(each for each in tables if each is not None)
    listed = [
        kind for (kind, *_), table in zip(wanted, tables, strict=False) if table is not None and not table.problem
    ]
    notices = []
    if len(wanted) > MAX_KINDS:
        notices.append(
            Notice("info", f"{len(wanted) - MAX_KINDS} more kinds are not shown.", "Open them from their Operator.")
        )
    view = OverviewView(shown, request.namespace or "", tuple(notices))
    watches = tuple(_signal(request, kind, is_optional=True) for kind in listed)
    again_seconds = AGAIN_SECONDS if len(listed) < len(shown) else 0.0
    return Page("instances.html", view, "Instances", SECTION, again_seconds=again_seconds, watches=watches)


def _provided(found: list[Object], discovery: Discovery) -> list[tuple[Kind, str, Object]]:
    """The kinds that are served, each once, with their names for people and their Operators."""
    kinds: dict[tuple[str, str], tuple[Kind, str, Object]] = {}
    for operator in sorted(found, key=lambda each: str(each["metadata"]["name"])):
        for api in apis_of(operator):
            served = discovery.find(f"{text_at(api, 'group')}/{text_at(api, 'version')}", text_at(api, "kind"))
            known = discovery.kinds.get((text_at(api, "group"), text_at(api, "kind")))
            kind = known or served
            if kind is not None and kind.group_kind not in kinds:
                kinds[kind.group_kind] = (kind, text_at(api, "displayName"), operator)
    return list(kinds.values())


async def _table(request: PageRequest, kind: Kind, title: str, operator: Object) -> InstanceTable | None:
    name = kind_name(kind, title)
    namespace = request.namespace if kind.namespaced else None
    owner = str(operator["metadata"]["name"])
    publisher = await publisher_in(request.session, operator, kind)
    if publisher.is_internal(kind):
        return None
    table = await read_table(request.session, kind, name, namespace, operator=owner, limit=ROWS_OF_OVERVIEW)
    return replace(table, new=await new_button(request, kind, title))


def _watched(request: PageRequest) -> tuple[Watch, ...]:
    return (Watch(operators.KIND),)


def _followed(request: PageRequest) -> tuple[Watch, ...]:
    """The instances of the page, if the kind is known."""
    kind = known_kind(*(request.path[key] for key in ("group", "version", "plural")))
    return () if kind is None else (_signal(request, kind),)


def _signal(request: PageRequest, kind: Kind, *, is_optional: bool = False) -> Watch:
    namespace = request.namespace if kind.namespaced else None
    return Watch(kind, namespace, is_signal=True, is_optional=is_optional)


async def listing(request: PageRequest) -> Answer:
    """The instances of one kind."""
    kind = await served_kind(request.session, *(request.path[key] for key in ("group", "version", "plural")))
    publisher = await publisher_of(request.session, kind)
    name = kind_name(kind, publisher.title)
    namespace = request.namespace if kind.namespaced else None
    table = await read_table(request.session, kind, name, namespace, operator=publisher.operator)
    table = replace(table, new=await new_button(request, kind, publisher.title))
    view = ListView(table, request.namespace or "", text_at(publisher.owned, "description"))
    return Page("instance-list.html", view, name.title, SECTION)


ROUTES = (
    Route("GET", "/instances", on_suite(overview), _watched),
    Route("GET", "/instances/{group}/{version}/{plural}", listing, _followed),
)
