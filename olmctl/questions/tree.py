"""The objects of an Operator: its dependencies, its BundleDeployment, and the objects of its bundle, with their health."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from olmctl.questions.controller_state import out_of_date
from olmctl.questions.errors import after
from olmctl.questions.extensions import ExtensionProblem, all_extensions, operator_of, problems_of
from olmctl.questions.installed_objects import InstalledObject, bundle_deployment_of, installed_objects
from olmctl.questions.left_installations import LeftInstallation, unowned_installation
from olmctl.questions.operator_state import condition, dependencies, installed, is_true, part, state, text_at
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmkit.api import bundledeployments, bundles, operators
from olmkit.api.clusterextensions import extension_of
from olmkit.api.meta import Object
from olmkit.api.operator_status import RequiredPackage
from olmkit.errors import NotFound

MAX_DEPTH = 50
"""Operators above one of the tree: a longer chain of dependencies is not followed."""


@dataclass(frozen=True)
class Node:
    """One object of the tree."""

    kind: str
    name: str
    state: str
    message: str = ""
    namespace: str = ""
    children: tuple[Node, ...] = ()

    def value(self) -> Object:
        """The node for programs, without empty fields."""
        own = {key: value for key, value in vars(self).items() if value and key != "children"}
        return {**own, **({"children": [each.value() for each in self.children]} if self.children else {})}


@dataclass(frozen=True)
class Tree:
    """The tree of an Operator, or of a BundleDeployment that is there without one."""

    root: Node
    left: LeftInstallation | None
    """The BundleDeployment without an Operator."""
    warnings: tuple[str, ...]
    """Sentences about what may be out of date."""
    problems: tuple[str, ...]
    """Sentences about what the tree lacks, because it could not be read."""


async def tree(session: Session, name: str) -> Tree:
    """The tree of the Operator of that name, or of the ClusterExtension of that name. Raises NotFound, ApiError."""
    try:
        found = await operator_of(session, name)
    except NotFound:
        left = await unowned_installation(session, name)
        if left is None:
            raise
        made = _TreeMaker(session, {}, {})
        with after([left.sentence], "note"), after(made.problems):
            root = await made.deployment(left.deployment)
        return Tree(root, left, (), tuple(made.problems))
    listed, _ = await session.client.list(operators.KIND)
    warnings = await out_of_date(session, [found])
    is_owned = any(map(extension_of, listed))
    problems = problems_of(await all_extensions(session), [*listed, found]) if is_owned else {}
    made = _TreeMaker(session, {each["metadata"]["name"]: each for each in listed}, problems)
    with after(warnings), after(made.problems):
        root = await made.operator(found, 0)
    return Tree(root, None, warnings, tuple(made.problems))


class _TreeMaker:
    """Makes the nodes. An Operator that several others require, or that a cycle leads to again, has children only once."""

    def __init__(
        self, session: Session, listed: Mapping[str, Object], extensions: Mapping[str, ExtensionProblem]
    ) -> None:
        self._session = session
        self._operators = listed
        self._extensions = extensions
        self._shown: set[str] = set()
        self.problems: list[str] = []

    async def operator(self, found: Object, depth: int) -> Node:
        """The node of an Operator. `depth` is the number of Operators above it."""
        name = found["metadata"]["name"]
        self._shown.add(name)
        problem = self._extensions.get(name)
        said = problem.message if problem else text_at(condition(found, "Ready"), "message")
        message = installed(found) if is_true(found, "Ready") and not problem else said
        children = [await self._dependency(each, depth + 1) for each in dependencies(found)]
        deployment = await bundle_deployment_of(self._session, found)
        if deployment is not None:
            children.append(await self.deployment(deployment))
        return Node("Operator", name, self._state(found), message, children=tuple(children))

    def _state(self, found: Object) -> str:
        """The state of an Operator, or of its ClusterExtension if that has a problem."""
        problem = self._extensions.get(found["metadata"]["name"])
        return problem.state if problem else state(found)

    async def _dependency(self, required: RequiredPackage, depth: int) -> Node:
        other = self._operators.get(required.operator or "")
        if other is None:
            return Node("Package", required.package, "Missing", f"no Operator installs it yet: {required.requirement}")
        name = other["metadata"]["name"]
        if name in self._shown:
            return Node("Operator", name, self._state(other), "its tree is shown once")
        if depth > MAX_DEPTH:
            return Node(
                "Operator", name, self._state(other), f"more than {MAX_DEPTH} Operators above it: olm tree {name}"
            )
        return await self.operator(other, depth)

    async def deployment(self, found: Object) -> Node:
        """The node of a BundleDeployment."""
        name = found["metadata"]["name"]
        selector = f"{bundledeployments.OWNER_NAME_LABEL}={name}"
        made, _ = await self._session.client.list(bundles.KIND, label_selector=selector)
        objects = await installed_objects(self._session, found)
        self.problems += map(clean, objects.problems)
        if part(found, "status", "leftOutTruncated"):
            self.problems.append(f"{name}: more objects are left out than its status names")
        children = (
            *(_with_conditions("Bundle", each) for each in made),
            *map(_object, objects.objects),
            *map(_left_out, part(found, "status", "leftOut") or ()),
        )
        return _with_conditions("BundleDeployment", found, children)


def _left_out(reference: Object) -> Node:
    kind, name, namespace = (text_at(reference, key) for key in ("kind", "name", "namespace"))
    return Node(kind, name, "LeftOut", "not applied: the cluster does not have its kind", namespace)


def _with_conditions(kind: str, found: Object, children: tuple[Node, ...] = ()) -> Node:
    message = "" if is_true(found, "Ready") else text_at(condition(found, "Ready"), "message")
    return Node(kind, found["metadata"]["name"], state(found), message, children=children)


def _object(each: InstalledObject) -> Node:
    return Node(each.kind.kind, each.name, each.state, each.message, each.namespace)
