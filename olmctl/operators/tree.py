"""`olm tree OPERATOR`: what belongs to an Operator, down to the objects of its bundle, with their health."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from olmctl.commands import warn
from olmctl.operators.controller_state import warn_if_not_up_to_date
from olmctl.operators.installed_objects import InstalledObject, bundle_deployment_of, installed_objects
from olmctl.operators.left_installations import report_left_installations, unowned_installation
from olmctl.operators.operator_state import condition, dependencies, installed, is_true, part, state, text_at
from olmctl.operators.output import Column, Indented, print_object, print_table
from olmctl.operators.session import Session, on_cluster
from olmctl.terminal import clean
from olmkit.api import bundledeployments, bundles, operators
from olmkit.api.meta import Object
from olmkit.api.operators import RequiredPackage
from olmkit.errors import NotFound

MAX_DEPTH = 50
"""Operators above one of the tree: a longer chain of dependencies is not followed."""
_COLUMNS = (Column("NAME"), Column("STATE", is_status=True), Column("MESSAGE", empty=""))


@dataclass
class Node:
    """One object of the tree."""

    kind: str
    name: str
    state: str
    message: str = ""
    namespace: str = ""
    children: list[Node] = field(default_factory=list)

    def value(self) -> Object:
        """The node for `-o json`, without empty fields."""
        own = {key: value for key, value in vars(self).items() if value and key != "children"}
        return {**own, **({"children": [each.value() for each in self.children]} if self.children else {})}

    def lines(self, first: str = "", others: str = "") -> Iterator[tuple[object, ...]]:
        """The rows of the table: `first` stands before this node, `others` before those below it."""
        place = f"{self.namespace}/" if self.namespace else ""
        yield Indented(first, f"{self.kind}/{place}{self.name}"), self.state, self.message
        for number, child in enumerate(self.children, 1):
            is_last = number == len(self.children)
            branch, rest = ("└── ", "    ") if is_last else ("├── ", "│   ")
            yield from child.lines(others + branch, others + rest)


@on_cluster
async def tree(session: Session, operator: str, output: str | None) -> int:
    """Show what belongs to OPERATOR: its dependencies, its BundleDeployment, and the objects of the bundle with their health."""
    try:
        found = await session.client.get(operators.KIND, operator)
    except NotFound:
        left = await unowned_installation(session, operator)
        if left is None:
            raise
        report_left_installations([left])
        _print(await _deployment(session, left.deployment), output)
        return 0
    listed, _ = await session.client.list(operators.KIND)
    await warn_if_not_up_to_date(session, [found])
    root = await _Tree(session, {each["metadata"]["name"]: each for each in listed}).operator(found, 0)
    _print(root, output)
    return 0


def _print(root: Node, output: str | None) -> None:
    if output:
        print_object(root.value(), output)
    else:
        print_table(_COLUMNS, root.lines())


class _Tree:
    """Makes the nodes. An Operator that several others require, or that a cycle leads to again, has children only once."""

    def __init__(self, session: Session, listed: Mapping[str, Object]) -> None:
        self._session = session
        self._operators = listed
        self._shown: set[str] = set()

    async def operator(self, found: Object, depth: int) -> Node:
        """The node of an Operator. `depth` is the number of Operators above it."""
        name = found["metadata"]["name"]
        self._shown.add(name)
        ready = condition(found, "Ready")
        is_ready = is_true(found, "Ready")
        node = Node("Operator", name, state(found), installed(found) if is_ready else text_at(ready, "message"))
        node.children += [await self._dependency(each, depth + 1) for each in dependencies(found)]
        deployment = await bundle_deployment_of(self._session, found)
        if deployment is not None:
            node.children.append(await _deployment(self._session, deployment))
        return node

    async def _dependency(self, required: RequiredPackage, depth: int) -> Node:
        other = self._operators.get(required.operator or "")
        if other is None:
            return Node("Package", required.package, "Missing", f"no Operator installs it yet: {required.requirement}")
        name = other["metadata"]["name"]
        if name in self._shown:
            return Node("Operator", name, state(other), "its tree is shown once")
        if depth > MAX_DEPTH:
            return Node("Operator", name, state(other), f"more than {MAX_DEPTH} Operators above it: olm tree {name}")
        return await self.operator(other, depth)


async def _deployment(session: Session, found: Object) -> Node:
    node = _with_conditions("BundleDeployment", found)
    selector = f"{bundledeployments.OWNER_NAME_LABEL}={found['metadata']['name']}"
    made, _ = await session.client.list(bundles.KIND, label_selector=selector)
    node.children += [_with_conditions("Bundle", each) for each in made]
    objects = await installed_objects(session, found)
    for problem in objects.problems:
        warn(clean(problem))
    node.children += [_node(each) for each in objects.objects]
    node.children += [_left_out(each) for each in part(found, "status", "leftOut") or ()]
    if part(found, "status", "leftOutTruncated"):
        warn(f"{node.name}: more objects are left out than its status names")
    return node


def _left_out(reference: Object) -> Node:
    kind, name, namespace = (text_at(reference, key) for key in ("kind", "name", "namespace"))
    return Node(kind, name, "LeftOut", "not applied: the cluster does not have its kind", namespace)


def _with_conditions(kind: str, found: Object) -> Node:
    message = "" if is_true(found, "Ready") else text_at(condition(found, "Ready"), "message")
    return Node(kind, found["metadata"]["name"], state(found), message)


def _node(each: InstalledObject) -> Node:
    return Node(each.kind.kind, each.name, each.state, each.message, each.namespace)
