"""One Operator: its state, what to do next, and the pages about its events, objects, versions, reasons and instances. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from markupsafe import Markup

from console import commands
from console.graph_layout import Layout, Row
from console.links import page_url
from console.views.inputs import ExtensionProblem
from console.views.operator_notes import PERMIT, EndingInstance, Waiting, notes, sentence, waiting
from console.views.operators import provided, scope_text
from console.views.parts import Badge, Button, ConditionView, Note, Tab, Tile, joined, revision, state_dot, tile, unless
from console.views.states import state_badge, upgrade_waits
from olmctl.questions.exclusions import excluded_entry, excluded_versions, other_managers
from olmctl.questions.operator_state import (
    available_version,
    conditions,
    dependencies,
    failure_text,
    installed,
    is_protected,
    is_terminating,
    part,
    text_at,
)
from olmctl.questions.owners import change_refusal, deletion_refusal, owner_of
from olmctl.questions.requested_fields import channels_text
from olmkit.api.meta import Kind, Object
from olmkit.api.ownership import is_dependency
from olmkit.errors import OlmError

_KEYS = {"graph": "g", "objects": "o", "yaml": "y", "events": "e"}
NEGATIVE = frozenset(
    {"Stalled", "Reconciling", "Deprecated", "PackageDeprecated", "ChannelDeprecated", "BundleDeprecated"}
)
"""Conditions that are bad, or at work, while True."""
_SEE_WHY = "See Why."
"""Stands for a message that is a part of the explanation."""
MAX_EVENTS = 200
OVERVIEW_OBJECTS, OVERVIEW_ROWS = 12, 12


@dataclass(frozen=True)
class EventRow:
    """One Event about the Operator or what belongs to it."""

    time: str
    about: str
    kind: str
    reason: str
    message: str
    count: int


@dataclass(frozen=True)
class TreeNode:
    """One object of the tree."""

    kind: str
    name: str
    state: str
    message: str
    dot: str
    children: tuple[TreeNode, ...] = ()


@dataclass(frozen=True)
class GraphRow:
    """One version of the graph."""

    id: str
    version: str
    href: str
    lanes: str
    badges: tuple[Badge, ...]
    is_far: bool
    reason: str
    detail: str = ""
    """The upgrades that lead to it."""
    action: str = ""
    """The review that leads to this version, in words; "" if there is none. `review` is its path."""
    review: str = ""
    is_running: bool = False


@dataclass(frozen=True)
class GraphView:
    """The graph: rows, and the drawing beside them. `problem` says why there is none."""

    svg: Markup
    rows: tuple[GraphRow, ...]
    followed: str
    folded: int
    problem: str = ""
    others: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    all: str = ""


@dataclass(frozen=True)
class Fact:
    """A name and a value."""

    name: str
    value: str
    href: str = ""


@dataclass(frozen=True)
class InstanceTypeRow:
    """A kind that the Operator provides. `href` is the page of its instances, `create` the form for a new one; "" if there is
    none."""

    title: str
    text: str
    href: str = ""
    create: str = ""
    count: str = ""
    """The number of its instances; "" if it is not known."""


@dataclass(frozen=True)
class OperatorView:
    """The page."""

    name: str
    tile: Tile
    badges: tuple[Badge, ...]
    summary: str
    notes: tuple[Note, ...]
    waiting: Waiting | None
    actions: tuple[Button, ...]
    tabs: tuple[Tab, ...]
    tab: str
    resolution: tuple[str, ...]
    """The explanation, as sentences."""
    conditions: tuple[ConditionView, ...]
    facts: tuple[Fact, ...]
    kinds: tuple[tuple[str, str], ...]
    instance_types: tuple[InstanceTypeRow, ...]
    events: tuple[EventRow, ...]
    tree: TreeNode | None
    tree_problems: tuple[str, ...]
    object_count: int
    graph: GraphView | None
    yaml: str
    trace: str
    trace_problem: str
    trace_href: str
    excluded: tuple[ExcludedVersion, ...] = ()


@dataclass(frozen=True)
class ExcludedVersion:
    """A version that is never chosen, and the way to permit it again."""

    version: str
    permit: Button


@dataclass(frozen=True)
class OperatorInput:
    """The input of the page; what its tab does not show is empty."""

    operator: Object
    deployment: Object | None = None
    tab: str = ""
    ns: str = ""
    modes: Sequence[str] = ()
    events: Sequence[Object] = ()
    tree: TreeNode | None = None
    tree_problems: Sequence[str] = ()
    object_count: int = 0
    graph: GraphView | None = None
    required_by: Sequence[str] = ()
    refusal: str = ""
    """The reason why the user may not change the Operator; "" if they may."""
    delete_refusal: str = ""
    yaml: str = ""
    served: Mapping[tuple[str, str], Kind] = field(default_factory=dict)
    """The kinds that the cluster serves, by group and kind."""
    counts: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """The numbers of instances of these kinds, where they are known."""
    trace: str = ""
    trace_problem: str = ""
    notes: Sequence[Note] = field(default=())
    ending: Sequence[EndingInstance] = ()
    """Instances that are being deleted, and that the end of the Operator may wait for."""
    problem: ExtensionProblem | None = None
    """The problem of its ClusterExtension."""
    about: tuple[str, str] = ("", "")
    """The name of the package for people, and its publisher, as the catalog has them."""


def operator_view(given: OperatorInput) -> OperatorView:
    """The page."""
    operator = given.operator
    name, package = text_at(operator, "metadata", "name"), text_at(operator, "spec", "packageName")
    catalog = text_at(operator, "status", "installed", "catalog")
    badges = [state_badge(operator, given.problem)]
    if upgrade_waits(operator):
        badges.append(Badge("warn", "Upgrade waits" if installed(operator) else "Waits", "clock"))
    if part(operator, "spec", "paused") is True:
        badges.append(Badge("info", "Paused", "pause"))
    if is_dependency(operator):
        badges.append(Badge("", "Dependency"))
    if owner := owner_of(operator):
        badges.append(Badge("", f"of {owner}"))
    return OperatorView(
        name=name,
        tile=tile(package or name, catalog=catalog, package=package, has_icon=bool(catalog)),
        badges=tuple(badges),
        summary=_summary(given),
        notes=tuple(_notes(given)),
        waiting=None if is_terminating(operator) else waiting(operator, given.ns, given.refusal),
        actions=tuple(_actions(given)),
        tabs=_tabs(given),
        tab=given.tab,
        resolution=_explained(operator),
        conditions=tuple(said_once(condition_views(operator), text_at(operator, "status", "resolution"))),
        facts=tuple(each for each in _facts(given) if each.value),
        kinds=tuple(provided(operator, given.ns)),
        instance_types=tuple(_instance_types(given)),
        events=tuple(_events(given)),
        tree=given.tree,
        tree_problems=tuple(given.tree_problems),
        object_count=given.object_count,
        graph=given.graph,
        yaml=given.yaml,
        trace=given.trace,
        trace_problem=given.trace_problem,
        trace_href=page_url("operators", name, "why", ns=given.ns, trace="1"),
        excluded=tuple(_excluded(given)),
    )


def _notes(given: OperatorInput) -> Iterable[Note]:
    """The notes of the page; first the one about what the ClusterExtension of an Operator that is Ready reports."""
    problem, owner = given.problem, owner_of(given.operator)
    if problem is not None and owner is not None:
        title = f"{owner} reports {problem.state}."
        yield Note("bad", title, sentence(problem.message), "alert", command=owner.command("edit"))
    yield from given.notes
    yield from notes(given.operator, given.deployment, given.ns, given.ending)


def _summary(given: OperatorInput) -> str:
    operator = given.operator
    text = installed(operator) or "nothing is installed yet"
    namespace = text_at(given.deployment, "status", "installNamespace") if given.deployment else ""
    place = f" Installed in {namespace}," if namespace else " It is"
    scope = scope_text(operator, given.modes)
    title, publisher = given.about
    by = f"{title or publisher}{f' by {publisher}' if title and publisher else ''}. " if title or publisher else ""
    return f"{by}{text[:1].upper()}{text[1:]}.{place} available in {scope[:1].lower()}{scope[1:]}."


def _excluded(given: OperatorInput) -> Iterable[ExcludedVersion]:
    name = text_at(given.operator, "metadata", "name")
    for version in excluded_versions(given.operator):
        path = page_url("operators", name, "permit", ns=given.ns, version=version)
        is_forced = bool(other_managers(given.operator, version))
        lines = tuple(each.text for each in commands.permit(name, version, is_forced=is_forced))
        yield ExcludedVersion(version, Button(PERMIT, path, reason=given.refusal, commands=lines, about=version))


def _actions(given: OperatorInput) -> Iterable[Button]:
    if not is_terminating(given.operator):
        yield from _actions_on(given)


def _actions_on(given: OperatorInput) -> Iterable[Button]:
    name = text_at(given.operator, "metadata", "name")
    is_paused = part(given.operator, "spec", "paused") is True
    kind = "operators.operators.operatorframework.io"

    def path(action: str) -> str:
        return page_url("operators", name, action, ns=given.ns)

    if part(given.operator, "status", "installed", "apis"):
        yield Button("Create an instance", path("instances"), kind="primary")
    change = Button("Change version", path("edit"), reason=given.refusal, commands=(f"olm upgrade {name}",))
    yield unless(change_refusal(given.operator), change)
    patch = f'{{"spec":{{"paused":{str(not is_paused).lower()}}}}}'
    yield Button(
        "Resume" if is_paused else "Pause",
        path("resume" if is_paused else "pause"),
        reason=given.refusal,
        commands=(f"kubectl patch {kind} {name} --type=merge -p '{patch}'",),
    )
    is_kept = is_protected(given.operator)
    mark = "operators.operatorframework.io/deletion-protection"
    protect = Button(
        "End the protection" if is_kept else "Protect from deletion",
        path("unprotect" if is_kept else "protect"),
        reason=given.refusal,
        commands=(f"kubectl annotate --overwrite {kind} {name} {mark}{'-' if is_kept else '=true'}",),
    )
    yield unless(change_refusal(given.operator), protect)
    uninstall = Button(
        "Uninstall",
        path("uninstall"),
        kind="danger",
        reason=given.delete_refusal,
        commands=(f"olm uninstall {name}",),
    )
    yield unless(deletion_refusal(given.operator), uninstall)


def _instance_types(given: OperatorInput) -> Iterable[InstanceTypeRow]:
    for each in part(given.operator, "status", "installed", "apis") or ():
        group, version, kind = (text_at(each, key) for key in ("group", "version", "kind"))
        title, text = text_at(each, "displayName") or kind, f"{kind} of {group}/{version}"
        served = given.served.get((group, kind))
        if served is None:
            yield InstanceTypeRow(title, f"{text}; the cluster does not serve it")
            continue
        path = page_url("instances", group, served.version, served.plural, ns=given.ns)
        create = page_url("instances", group, served.version, served.plural, "new", ns=given.ns)
        count = given.counts.get((group, kind))
        counted = "" if count is None else "1 instance" if count == 1 else f"{count} instances"
        yield InstanceTypeRow(title, text, path, create, counted)


def _tabs(given: OperatorInput) -> tuple[Tab, ...]:
    name = text_at(given.operator, "metadata", "name")
    titles = {
        "": ("Overview", ""),
        "events": ("Events", ""),
        "objects": ("Objects", str(given.object_count) if given.object_count else ""),
        "graph": ("Upgrade graph", ""),
        "why": ("Why", ""),
        "instances": ("Instances", ""),
        "yaml": ("YAML", ""),
    }
    return tuple(
        Tab(
            text,
            page_url("operators", name, *([key] if key else []), ns=given.ns),
            key == given.tab,
            count,
            _KEYS.get(key, ""),
        )
        for key, (text, count) in titles.items()
    )


def condition_views(obj: Object) -> Iterable[ConditionView]:
    """The conditions of an object, with the colour that their status has."""
    for each in conditions(obj):
        type_, status = text_at(each, "type"), text_at(each, "status")
        good = "False" if type_ in NEGATIVE else "True"
        kind = "ok" if status == good else "info" if status == "Unknown" or type_ == "Reconciling" else "bad"
        kind = "warn" if kind == "bad" and type_.endswith("Deprecated") else kind
        since = text_at(each, "lastTransitionTime")
        yield ConditionView(type_, Badge(kind, status), text_at(each, "reason"), text_at(each, "message"), since)


def _facts(given: OperatorInput) -> Iterable[Fact]:
    operator = given.operator
    spec = part(operator, "spec") or {}
    package, catalog = text_at(spec, "packageName"), text_at(operator, "status", "installed", "catalog")
    yield Fact("Package", package, page_url("catalog", catalog, package, ns=given.ns) if catalog else "")
    yield Fact("Belongs to", str(owner_of(operator) or ""))
    yield Fact("Asked for", _asked(spec))
    yield Fact("Installed", installed(operator) or "nothing")
    yield Fact("Wanted", text_at(operator, "status", "wantedVersion"))
    yield Fact("Failure", failure_text(operator))
    yield Fact("Approval", text_at(spec, "approval") or "Automatic")
    yield Fact("Excluded", joined(excluded_versions(operator)))
    yield Fact("Protected", "It cannot be deleted while instances exist." if is_protected(operator) else "")
    account = text_at(spec, "install", "serviceAccount", "name")
    yield Fact("Installs as", f"ServiceAccount {account}" if account else "")
    try:
        required = [f"{each.package} {each.version}" for each in dependencies(operator)]
    except OlmError as error:
        required = [str(error)]
    yield Fact("Requires", joined(required))
    yield Fact("Required by", joined(list(given.required_by)))
    yield Fact("Image", text_at(operator, "status", "installedBundleResource"))


def _asked(spec: Object) -> str:
    version = text_at(spec, "version")
    texts = [f"version {version}" if version else "", channels_text(spec)]
    return ", ".join(filter(None, texts)) or "the newest version of the default channel"


def _explained(operator: Object) -> tuple[str, ...]:
    """The explanation of operator-controller, as sentences. One that is being deleted is not resolved any more."""
    if is_terminating(operator):
        return ("It is being deleted.",)
    return tuple(sentence(each) for each in text_at(operator, "status", "resolution").split("; ") if each.strip())


def said_once(found: Iterable[ConditionView], resolution: str) -> Iterator[ConditionView]:
    """The conditions. A message that the explanation, or a condition before it, has already is not repeated."""
    before: set[str] = set()
    for each in found:
        if each.message and resolution.startswith(each.message):
            yield replace(each, message=_SEE_WHY)
        else:
            yield replace(each, message="See above." if each.message and each.message in before else each.message)
        before.add(each.message)


def _events(given: OperatorInput) -> Iterator[EventRow]:
    """The Events; on the overview the explanation, which stands beside them, is not repeated."""
    resolution = text_at(given.operator, "status", "resolution")
    for each in event_rows(given.events):
        is_known = not given.tab and bool(resolution) and resolution.startswith(each.message)
        yield replace(each, message=_SEE_WHY) if is_known else each


def event_rows(events: Sequence[Object]) -> Iterable[EventRow]:
    """The Events, the newest first."""
    for each in sorted(events, key=lambda each: (_time(each), revision(each)), reverse=True)[:MAX_EVENTS]:
        about = part(each, "involvedObject") or {}
        count = part(each, "count")
        yield EventRow(
            _time(each),
            f"{text_at(about, 'kind')} {text_at(about, 'name')}",
            "warn" if text_at(each, "type") == "Warning" else "",
            text_at(each, "reason"),
            text_at(each, "message"),
            count if isinstance(count, int) else 1,
        )


def _time(event: Object) -> str:
    return (
        text_at(event, "lastTimestamp")
        or text_at(event, "eventTime")
        or text_at(event, "metadata", "creationTimestamp")
    )


def tree_node(value: Any) -> TreeNode:
    """The node of `olm tree -o json` with what belongs to it."""
    name, namespace = text_at(value, "name"), text_at(value, "namespace")
    found = text_at(value, "state")
    return TreeNode(
        text_at(value, "kind"),
        f"{namespace}/{name}" if namespace else name,
        found,
        text_at(value, "message"),
        state_dot(found),
        tuple(tree_node(each) for each in value.get("children") or ()),
    )


def count_nodes(node: TreeNode) -> int:
    """The number of nodes below this one."""
    return sum(1 + count_nodes(each) for each in node.children)


def graph_view(  # noqa: PLR0913 what a row shows
    drawn: Layout,
    picture: Markup,
    operator: Object | None,
    package_path: str,
    *,
    whole: str = "",
    excluded: Sequence[str] = (),
    limit: int = 0,
    ns: str = "",
) -> GraphView:
    """The graph of a layout. `whole` is the URL that shows all rows."""
    waits = available_version(operator) if operator and upgrade_waits(operator) else ""
    followed = drawn.lanes[0] if drawn.lanes else ""
    rows = tuple(
        _with_action(_graph_row(each, waits, followed, package_path, excluded, drawn), each, operator, ns)
        for each in drawn.rows
    )
    return GraphView(
        picture,
        rows,
        followed,
        drawn.folded,
        "" if rows else "The catalog has no versions of this package.",
        drawn.lanes[1:],
        all=whole if drawn.folded or limit else "",
    )


def _with_action(made: GraphRow, row: Row, operator: Object | None, ns: str) -> GraphRow:
    """The row with what can be done with its version: permit one that is excluded, upgrade to one that is in reach, or go back to
    an older one."""
    if not operator or is_terminating(operator) or row.missing or not made.version[:1].isdigit():
        return made
    if excluded_entry(operator, row.version):
        action, page = PERMIT, "permit"
    elif row.is_running or not (row.is_older or (row.is_in_reach and row.is_newer)):
        return made
    else:
        action, page = ("Roll back", "rollback") if row.is_older else ("Upgrade", "upgrade")
    path = page_url("operators", text_at(operator, "metadata", "name"), page, ns=ns, version=row.version)
    return replace(made, action=action, review=path)


def _graph_row(
    row: Row, waits: str, followed: str, package_path: str, excluded: Sequence[str], drawn: Layout
) -> GraphRow:
    badges = []
    if row.is_running:
        badges.append(Badge("ok", "Runs", "check"))
    if waits and row.version == waits:
        badges.append(Badge("warn", "Waits", "clock"))
    if row.version in excluded:
        badges.append(Badge("bad", "Excluded", "x"))
    if row.is_in_reach:
        badges.append(Badge("", "In reach"))
    if row.is_deprecated:
        badges.append(Badge("warn", "Deprecated", "alert"))
    if row.missing:
        badges.append(Badge("", row.missing))
    lanes = ", ".join(row.channels)
    if row.heads and not row.missing:
        lanes += f" (head of {' and '.join(row.heads)})"
    runs = next((each.version for each in drawn.rows if each.is_running), "")
    reason = ""
    if row.is_newer and row.is_far and runs:
        no_channel = f"It is not in channel {followed}, which is followed."
        reason = no_channel if followed not in row.channels else f"No upgrade leads here from {runs}."
    return GraphRow(
        row.bundle,
        row.version,
        f"{package_path}?version={row.version}",
        lanes,
        tuple(badges),
        row.is_far,
        reason,
        f"Upgrades from {joined(row.sources, 6)}." if row.sources else "No upgrade leads to it.",
        is_running=row.is_running,
    )
