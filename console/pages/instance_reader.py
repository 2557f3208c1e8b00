"""Reads instances: lists as the API server prints them, Events, and the objects that an instance owns. Never writes.

Owned objects are read whole only if their kind has a state; of Secrets only metadata is read: their values never reach
this process.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from console.links import page_url
from console.pages.kind_reader import gathered, has_pages
from console.views.instance_facts import badge_of
from console.views.instances import NO_NAMESPACE, Child, Happening, InstanceTable, KindName, Row, instance_path
from console.views.parts import revision
from olmctl.questions.installed_objects import has_state, with_health
from olmctl.questions.operator_state import is_terminating, text_at
from olmctl.questions.session import Session
from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError
from olmkit.runtime.discovery import Discovery

PAGE: Final = 500
MAX_CELL: Final = 200
MAX_CHILDREN: Final = 500
MAX_LEVELS: Final = 3
MAX_STATES: Final = 100
"""Owned objects that are read whole, for their state."""
MAX_EVENTS: Final = 100
STATES: Final = frozenset({"state", "status", "phase", "health"})
"""Titles of columns that say how an instance is."""
_TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
WELL_KNOWN: Final = (
    ("apps", "Deployment"), ("apps", "StatefulSet"), ("apps", "DaemonSet"), ("apps", "ReplicaSet"), ("batch", "Job"),
    ("batch", "CronJob"), ("", "Pod"), ("", "Service"), ("networking.k8s.io", "Ingress"), ("", "ConfigMap"), ("", "Secret"),
    ("", "PersistentVolumeClaim"), ("", "ServiceAccount"), ("rbac.authorization.k8s.io", "Role"),
    ("rbac.authorization.k8s.io", "RoleBinding"),
)  # fmt: skip


async def read_table(
    session: Session, kind: Kind, name: KindName, namespace: str | None, *, operator: str = "", limit: int = PAGE
) -> InstanceTable:
    """The instances of a kind, with the columns of its definition."""
    try:
        answer = await session.client.request("GET", kind.path(namespace), query={"limit": str(limit)}, accept=_TABLE)
    except ApiError as error:
        return InstanceTable(name, operator, problem=f"{kind.plural}.{kind.group} cannot be listed: {error.message}")
    titles, shown = _columns(answer)
    rows = [row for each in answer.get("rows") or () if (row := _row(each, name, titles, shown)) is not None]
    metadata = answer.get("metadata") or {}
    more = metadata.get("remainingItemCount") or (-1 if metadata.get("continue") else 0)
    return InstanceTable(name, operator, titles, tuple(rows), more=more)


def _columns(answer: Mapping[str, Any]) -> tuple[tuple[str, ...], list[int]]:
    """The titles of the columns that are shown, and their places."""
    columns = [each for each in answer.get("columnDefinitions") or () if isinstance(each, dict)]
    shown = [
        index
        for index, each in enumerate(columns)
        if not each.get("priority") and each.get("format") != "name" and text_at(each, "name") not in ("Name", "Age")
    ]
    return tuple(text_at(columns[index], "name")[:MAX_CELL] for index in shown), shown


async def read_columns(session: Session, kind: Kind, name: str, namespace: str | None) -> dict[str, str]:
    """The columns of one instance with their texts; none if the API server has no table of it."""
    try:
        answer = await session.client.request("GET", kind.path(namespace, name), accept=_TABLE)
    except ApiError:
        return {}
    titles, shown = _columns(answer)
    cells = next((each.get("cells") or [] for each in answer.get("rows") or ()), [])
    return {title: _cell(cells[at]) for title, at in zip(titles, shown, strict=True) if at < len(cells)}


async def count_instances(session: Session, kind: Kind, namespace: str | None) -> int | None:
    """The number of instances of a kind, of which one is read; None if it may not be listed or the API server does not count."""
    where = namespace if kind.namespaced else None
    try:
        answer = await session.client.request("GET", kind.path(where), query={"limit": "1"}, accept=_TABLE)
    except ApiError:
        return None
    metadata = answer.get("metadata") or {}
    more = metadata.get("remainingItemCount") or 0
    is_known = bool(more) or not metadata.get("continue")
    return len(answer.get("rows") or ()) + more if is_known else None


def _row(found: Any, kind: KindName, titles: Iterable[str], shown: Iterable[int]) -> Row | None:
    if not isinstance(found, dict) or not text_at(found, "object", "metadata", "name"):
        return None
    cells = found.get("cells") or []
    name, namespace = (text_at(found, "object", "metadata", key) for key in ("name", "namespace"))
    texts = tuple(_cell(cells[index]) if index < len(cells) else "" for index in shown)
    badges = tuple(
        badge_of(text) if text and title.lower() in STATES else "" for title, text in zip(titles, texts, strict=True)
    )
    created = text_at(found, "object", "metadata", "creationTimestamp")
    return Row(name, namespace, instance_path(kind.path, namespace, name), texts, badges, created)


def _cell(value: Any) -> str:
    text = "" if value is None else "yes" if value is True else "no" if value is False else str(value)
    return text[:MAX_CELL]


async def read_events(session: Session, obj: Object) -> tuple[Happening, ...]:
    """The Events about an object, the newest first. Raises ApiError."""
    namespace, uid = text_at(obj, "metadata", "namespace"), text_at(obj, "metadata", "uid")
    path = f"/api/v1/namespaces/{namespace or 'default'}/events"
    query = {"fieldSelector": f"involvedObject.uid={uid}", "limit": str(PAGE)}
    answer = await session.client.request("GET", path, query=query)
    items = [each for each in answer.get("items") or () if isinstance(each, dict)]
    found = [_happening(each) for each in sorted(items, key=revision)][::-1]
    return tuple(sorted(found, key=lambda each: each.time, reverse=True)[:MAX_EVENTS])


def _happening(event: Mapping[str, Any]) -> Happening:
    series = event.get("series")
    seen = text_at(series, "lastObservedTime") if isinstance(series, dict) else ""
    time = seen or text_at(event, "lastTimestamp") or text_at(event, "eventTime") or text_at(event, "firstTimestamp")
    counted = series.get("count") if isinstance(series, dict) else event.get("count")
    count = counted if isinstance(counted, int) else 1
    return Happening(
        time, event.get("type") == "Warning", text_at(event, "reason"), text_at(event, "message")[:2000], count
    )


@dataclass(frozen=True)
class Children:
    """The objects that an instance owns, and the kinds that could not be listed."""

    children: tuple[Child, ...]
    problems: tuple[str, ...]
    is_cut: bool


async def read_children(session: Session, obj: Object, resources: Iterable[tuple[str, str]]) -> Children:
    """The objects that an object owns, those that these own, and a level more. `resources`: (group, kind) that its publisher
    names beside the well-known kinds."""
    discovery = await session.client.discover()
    kinds = _kinds(discovery, resources)
    namespace = text_at(obj, "metadata", "namespace") or None
    answers = await gathered([_owned_objects(session, kind, namespace) for kind in kinds])
    by_owner: dict[str, list[tuple[Kind, Object]]] = defaultdict(list)
    for found, _ in answers:
        for kind, each in found:
            for owner in (each.get("metadata") or {}).get("ownerReferences") or ():
                by_owner[text_at(owner, "uid")].append((kind, each))
    states = await _states(session, obj, by_owner)
    count = [0]

    def below(uid: str, level: int) -> tuple[Child, ...]:
        if level == MAX_LEVELS or not uid:
            return ()
        children = []
        for kind, each in sorted(
            by_owner.get(uid, ()), key=lambda item: (item[0].kind, text_at(item[1], "metadata", "name"))
        ):
            if count[0] == MAX_CHILDREN:
                break
            count[0] += 1
            own = text_at(each, "metadata", "uid")
            children.append(_child(kind, each, below(own, level + 1), *states.get(own, ("", ""))))
        return tuple(children)

    found = below(text_at(obj, "metadata", "uid"), 0)
    return Children(found, tuple(problem for _, problem in answers if problem), count[0] == MAX_CHILDREN)


def _kinds(discovery: Discovery, resources: Iterable[tuple[str, str]]) -> list[Kind]:
    names = dict.fromkeys((*WELL_KNOWN, *list(resources)[:30]))
    found = []
    for group, kind in names:
        known = discovery.kinds.get((group, kind))
        if known is None and not group:
            known = next((each for (_, name), each in discovery.kinds.items() if name == kind), None)
        if known is not None and known not in found:
            found.append(known)
    return found


async def _owned_objects(session: Session, kind: Kind, namespace: str | None) -> tuple[list[tuple[Kind, Object]], str]:
    where = namespace if kind.namespaced else None
    if kind.namespaced and namespace is None:
        where = None
    try:
        found, _ = await session.client.list(kind, where, metadata_only=True)
    except ApiError as error:
        return [], f"{kind.plural} cannot be listed: {error.message}"
    return [(kind, each) for each in found if (each.get("metadata") or {}).get("ownerReferences")], ""


async def _states(
    session: Session, obj: Object, by_owner: Mapping[str, list[tuple[Kind, Object]]]
) -> dict[str, tuple[str, str]]:
    """State and message by uid, of the owned objects whose kinds have a health. Only these are read whole."""
    uids, found = {text_at(obj, "metadata", "uid")}, []
    for _ in range(MAX_LEVELS):
        level = [each for uid in uids for each in by_owner.get(uid, ())]
        found += [(kind, each) for kind, each in level if has_state(kind)]
        uids = {text_at(each, "metadata", "uid") for _, each in level}

    async def state(kind: Kind, each: Object) -> tuple[str, str]:
        name, namespace = text_at(each, "metadata", "name"), text_at(each, "metadata", "namespace")
        try:
            seen = with_health(kind, await session.client.get(kind, name, namespace or None))
        except ApiError:
            return "", ""
        return seen.state, seen.message

    read = found[:MAX_STATES]
    states = await gathered([state(kind, each) for kind, each in read])
    return {text_at(each, "metadata", "uid"): known for (_, each), known in zip(read, states, strict=True)}


def _child(kind: Kind, obj: Object, children: tuple[Child, ...], state: str, message: str) -> Child:
    name, namespace, created = (text_at(obj, "metadata", key) for key in ("name", "namespace", "creationTimestamp"))
    place = (kind.group, kind.version, kind.plural, namespace or NO_NAMESPACE, name)
    path = page_url("instances", *place) if has_pages(kind.group) else ""
    return Child(kind.kind, name, namespace, created, is_terminating(obj), children, state, message, path)
