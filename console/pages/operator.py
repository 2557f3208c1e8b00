"""One Operator: its overview, and the pages about its events, objects, versions, reasons, kinds and text."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

import orjson
from markupsafe import Markup

from console.access import Ask
from console.graph_layout import MAX_ROWS, layout
from console.graph_svg import svg
from console.links import page_url
from console.page import Answer, NotThere, Page, PageRequest
from console.pages.events import EVENT, events_about
from console.pages.instance_reader import count_instances
from console.pages.kind_reader import apis_of, gathered
from console.pages.operators import BundleWords, bundle_words
from console.pages.setup_help import on_suite
from console.routes import Handler, Route, Watch
from console.views.instances import NO_NAMESPACE
from console.views.operator import (
    OVERVIEW_OBJECTS,
    OVERVIEW_ROWS,
    GraphView,
    OperatorInput,
    TreeNode,
    count_nodes,
    graph_view,
    operator_view,
    tree_node,
)
from console.views.operator_notes import EndingInstance
from olmctl.object_text import as_yaml, without_managed_fields
from olmctl.questions.errors import QuestionError
from olmctl.questions.extensions import problem_of, waiting_extension
from olmctl.questions.graph import package_graph
from olmctl.questions.installed_objects import bundle_deployment_of
from olmctl.questions.left_installations import unowned_installation
from olmctl.questions.operator_state import is_terminating, part, text_at
from olmctl.questions.required_operators import RequiredOperators
from olmctl.questions.tree import tree
from olmctl.questions.why import trace
from olmkit.api import bundledeployments, bundles, clusterextensions, operators
from olmkit.api.clusterextensions import extension_of
from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError, NotFound, OlmError
from operator_controller.resolve.explain.spec_hints import similar_names

MAX_COUNTED = 100
"""Kinds whose instances are counted."""
TRACE_LENGTH = 256 * 1024
"""Characters of the last resolution that are shown."""


def tab(name: str) -> Handler:
    """The handler of one tab."""

    @on_suite
    async def show(request: PageRequest) -> Answer:
        return await _page(request, name)

    return show


async def _page(request: PageRequest, name: str) -> Answer:
    operator = await operator_of(request)
    patch, delete = await request.access.each(
        Ask("patch", operators.KIND, name=request.path["name"]),
        Ask("delete", operators.KIND, name=request.path["name"]),
    )
    words = (await bundle_words(request, [operator])).get(request.path["name"], BundleWords())
    given = OperatorInput(
        operator,
        await _deployment(request, operator),
        name,
        request.namespace or "",
        words.modes,
        refusal="" if patch else patch.reason,
        delete_refusal="" if delete else delete.reason,
        ending=await _ending(request, operator) if is_terminating(operator) else (),
        problem=await problem_of(request.session, operator),
        about=(words.title, words.provider),
    )
    value = operator_view(await _filled(request, given))
    extension = extension_of(operator)
    watches = (Watch(clusterextensions.KIND, name=extension, is_optional=True),) if extension else ()
    return Page("operator.html", value, value.name, "Operators", scripts=("grid.js", "graph.js"), watches=watches)


async def operator_of(request: PageRequest) -> Object:
    """The Operator of the path. Raises NotThere with similar names, with what is installed without an Operator, and with what a
    ClusterExtension without one reports."""
    name = request.path["name"]
    try:
        return await request.session.client.get(operators.KIND, name)
    except NotFound as error:
        listed, _ = await request.session.client.list(operators.KIND)  # also: the cluster does not serve the kind
        names = {text_at(each, "metadata", "name") for each in listed}
        left = await unowned_installation(request.session, name)
        text = f"There is no Operator {name}"
        message = f"{text}, but {left.sentence}." if left and (left.package or left.is_run) else f"{text}."
        if waiting := await waiting_extension(request.session, name):
            reported = f" ({waiting.state}: {waiting.message})" if waiting.message else f" ({waiting.state})"
            message = f"{text}, but ClusterExtension {waiting.name} waits for one{reported}."
        similar = tuple((f"/operators/{each}", each) for each in similar_names(name, names))
        raise NotThere(message, similar) from error


async def _deployment(request: PageRequest, operator: Object) -> Object | None:
    """Its BundleDeployment; None if there is none, or if it may not be read."""
    try:
        return await bundle_deployment_of(request.session, operator)
    except ApiError:
        return None


async def _ending(request: PageRequest, operator: Object) -> list[EndingInstance]:
    """The instances of its kinds that are being deleted, as far as they may be listed."""
    served = (await request.session.client.discover()).kinds
    keys = [(text_at(each, "group"), text_at(each, "kind")) for each in apis_of(operator)[:MAX_COUNTED]]
    kinds = [served[key] for key in dict.fromkeys(keys) if key in served]
    lists = await gathered([_listed(request, each) for each in kinds])
    return [
        _ending_instance(kind, each)
        for kind, found in zip(kinds, lists, strict=True)
        for each in found
        if is_terminating(each)
    ]


async def _listed(request: PageRequest, kind: Kind) -> list[Object]:
    try:
        return (await request.session.client.list(kind, metadata_only=True))[0]
    except ApiError:
        return []


def _ending_instance(kind: Kind, found: Object) -> EndingInstance:
    namespace, name = (text_at(found, "metadata", key) for key in ("namespace", "name"))
    path = page_url("instances", kind.group, kind.version, kind.plural, namespace or NO_NAMESPACE, name)
    finalizers = tuple(map(str, part(found, "metadata", "finalizers") or ()))
    return EndingInstance(kind.kind, f"{namespace}/{name}" if namespace else name, path, finalizers)


async def _filled(request: PageRequest, given: OperatorInput) -> OperatorInput:
    """The input with what the tab shows."""
    match given.tab:
        case "":
            found, graph, (node, problems, count) = await asyncio.gather(
                events_of(request, given), _graph(request, given, OVERVIEW_ROWS), _tree(request, OVERVIEW_OBJECTS)
            )
            return replace(given, events=found, graph=graph, tree=node, tree_problems=problems, object_count=count)
        case "events":
            return replace(given, events=await events_of(request, given))
        case "objects":
            node, problems, count = await _tree(request, 0)
            return replace(given, tree=node, tree_problems=problems, object_count=count)
        case "graph":
            return replace(given, graph=await _graph(request, given, 0))
        case "why":
            return await _why(request, given)
        case "instances":
            served = (await request.session.client.discover()).kinds
            return replace(given, served=served, counts=await _counts(request, given, served))
    return replace(given, yaml=as_yaml(without_managed_fields(given.operator)))


async def _counts(
    request: PageRequest, given: OperatorInput, served: Mapping[tuple[str, str], Kind]
) -> dict[tuple[str, str], int]:
    """The numbers of instances of the kinds that the Operator provides, of those that can be listed."""
    keys = [(text_at(each, "group"), text_at(each, "kind")) for each in apis_of(given.operator)[:MAX_COUNTED]]
    kinds = [served[key] for key in dict.fromkeys(keys) if key in served]
    counts = await gathered([count_instances(request.session, each, request.namespace) for each in kinds])
    return {kind.group_kind: count for kind, count in zip(kinds, counts, strict=True) if count is not None}


async def events_of(request: PageRequest, given: OperatorInput) -> Sequence[Object]:
    """The Events about the Operator, its BundleDeployment and its Bundles; none if they may not be read."""
    name = text_at(given.operator, "metadata", "name")
    uids = {text_at(given.operator, "metadata", "uid"), text_at(given.deployment, "metadata", "uid")}
    selectors = [
        f"involvedObject.kind={kind.kind},involvedObject.name={name}"
        for kind in (operators.KIND, bundledeployments.KIND)
    ]
    try:
        selector = f"{bundledeployments.OWNER_NAME_LABEL}={name}"
        made, _ = await request.session.client.list(bundles.KIND, label_selector=selector, metadata_only=True)
        uids |= {text_at(each, "metadata", "uid") for each in made}
        names = [text_at(each, "metadata", "name") for each in made]
        selectors += [f"involvedObject.kind={bundles.KIND.kind},involvedObject.name={each}" for each in names[:5]]
        answers = await asyncio.gather(*(_selected(request, each) for each in selectors))
    except ApiError:
        return ()
    return [each for found in answers for each in found if text_at(each, "involvedObject", "uid") in uids]


async def _selected(request: PageRequest, selector: str) -> list[Object]:
    """The Events that a field selector selects. Events about objects without a namespace are in `default`."""
    pages = request.session.client.pages(EVENT, "default", field_selector=selector)
    return [each async for found, _ in pages for each in found]


async def _tree(request: PageRequest, limit: int) -> tuple[TreeNode | None, tuple[str, ...], int]:
    """The tree, what it lacks, and the number of its objects; with a limit as many objects as fit."""
    try:
        found = await tree(request.session, request.path["name"])
    except (ApiError, OlmError) as error:
        return None, (str(error),), 0
    node = tree_node(found.root.value())
    problems = (*found.problems, *found.warnings)
    count = count_nodes(node)
    return (_cut(node, limit) if limit else node), problems, count


def _cut(node: TreeNode, limit: int) -> TreeNode:
    """The node with at most `limit` children at each place, and a line about the rest; unhealthy ones first."""
    ordered = sorted(node.children, key=lambda each: (not each.children, each.dot == ""))
    kept = tuple(_cut(each, limit) for each in ordered[:limit])
    rest = len(ordered) - len(kept)
    more = (TreeNode("", f"{rest} more", "", "", ""),) if rest else ()
    return replace(node, children=(*kept, *more))


async def _graph(request: PageRequest, given: OperatorInput, limit: int) -> GraphView:
    """The upgrade graph of the package, as far as it can be read."""
    name = text_at(given.operator, "metadata", "name")
    try:
        found = await package_graph(request.session, name)
    except (QuestionError, ApiError, OlmError) as error:
        return GraphView(Markup(), (), "", 0, str(error))
    followed = text_at(given.operator, "spec", "channel") or text_at(given.operator, "status", "installed", "channel")
    is_whole = request.query.one("all") == "1" and not limit
    drawn = layout(found.drawing, found.versions, followed, whole=is_whole, limit=limit or MAX_ROWS)
    base = f"/catalog/{found.catalog}/{found.package}"
    more = f"/operators/{name}/graph" + ("" if limit else "?all=1")
    excluded = sorted(found.excluded)
    made = graph_view(drawn, svg(drawn), given.operator, base, whole=more, excluded=excluded, ns=given.ns)
    return replace(made, notes=found.warnings)


async def _why(request: PageRequest, given: OperatorInput) -> OperatorInput:
    """The Operators that require this one, and with ?trace=1 the last resolution."""
    listed, _ = await request.session.client.list(operators.KIND)
    try:
        required_by = RequiredOperators(listed).requiring(request.path["name"])
    except OlmError:
        required_by = []
    given = replace(given, required_by=tuple(required_by))
    if request.query.one("trace") != "1" or request.is_live:
        return given
    try:
        found = await trace(request.session, request.path["name"])
    except ApiError as error:
        return replace(given, trace_problem=f"The last resolution cannot be read: {error.message}")
    text = orjson.dumps(found, option=orjson.OPT_INDENT_2).decode()
    return replace(given, trace=text[:TRACE_LENGTH])


def _watches(request: PageRequest) -> tuple[Watch, ...]:
    name = request.path["name"]
    return Watch(operators.KIND, name=name), Watch(bundledeployments.KIND, name=name), events_about(name)


_PATH = "/operators/{name}"
ROUTES = (
    Route("GET", _PATH, tab(""), _watches),
    *(
        Route("GET", f"{_PATH}/{each}", tab(each), _watches)
        for each in ("events", "objects", "graph", "why", "instances", "yaml")
    ),
)
