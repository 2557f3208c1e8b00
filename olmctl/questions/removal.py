"""The consequences of a deletion of an Operator: for the objects of its bundle, its CustomResourceDefinitions with their custom
resources, and the dependencies that nothing requires after it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from olmctl.questions.custom_resources import CustomResources
from olmctl.questions.installed_objects import (
    InstalledObjects,
    bundle_deployment_of,
    custom_resources,
    installed_objects,
)
from olmctl.questions.operator_state import dependencies, installed, is_protected, is_true, part
from olmctl.questions.owners import owner_of
from olmctl.questions.required_operators import RequiredOperators, Requiring
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmkit.api import bundledeployments, operators
from olmkit.api.meta import Object
from olmkit.api.names import pluralize
from olmkit.api.operators import ConditionType
from olmkit.api.ownership import is_dependency
from olmkit.api.required_namespaces import all_required_namespaces

CASCADE = "Cascade"
"""The deletionPolicy that deletes everything, which is the default."""
KEEP_CRDS = "KeepCRDs"
ORPHAN = "Orphan"
"""The deletionPolicy that keeps everything."""
_SHOWN_FIRST = ("Namespace", "CustomResourceDefinition")
"""Kinds whose objects are named one by one."""


@dataclass(frozen=True)
class Contents:
    """The objects of a bundle, and the custom resources of its CRDs."""

    objects: InstalledObjects
    counts: tuple[CustomResources, ...]
    policy: str = CASCADE

    @property
    def in_use(self) -> str:
        """The custom resources that keep a dependency which nothing requires; "" if there are none."""
        return ", ".join(clean(str(each)) for each in self.counts if each.count != 0)

    @property
    def lines(self) -> tuple[str, ...]:
        """Sentences about what becomes of the objects."""
        return tuple(consequences(self.objects, self.counts, self.policy))


@dataclass(frozen=True)
class Removal:
    """Everything that is deleted with an Operator."""

    name: str
    lines: tuple[str, ...]
    """Sentences about it, for people."""
    dependencies: tuple[str, ...]
    """The names of the dependencies that are certainly deleted."""
    contents: Mapping[str, Contents]
    """Of the Operator, and of the dependencies that may be deleted, by name."""
    requiring: Requiring
    """The Operators that require it and are not deleted with it."""
    is_refused: bool
    """True if the deletion will be refused: the Operator is protected, and there are custom resources."""

    @property
    def cascading(self) -> tuple[Contents, ...]:
        """The contents whose custom resources are certainly deleted."""
        found = (self.contents[each] for each in (self.name, *self.dependencies) if each in self.contents)
        return tuple(each for each in found if each.policy == CASCADE)

    @property
    def custom_resources(self) -> tuple[CustomResources, ...]:
        """The custom resources that are certainly deleted, by CRD."""
        return tuple(count for each in self.cascading for count in each.counts)


async def removal_of(session: Session, found: Object) -> Removal:
    """The consequences of the deletion of an Operator. Raises ApiError."""
    name = found["metadata"]["name"]
    listed, _ = await session.client.list(operators.KIND)
    deployments, _ = await session.client.list(bundledeployments.KIND)
    kept_namespaces = all_required_namespaces(deployments)
    required = RequiredOperators([*listed, found], deployments)
    contents = {name: await _contents(session, found, kept_namespaces)}
    candidates = required.deleted_with(name)
    removed = {each for each in (name, *candidates) if _policy(required.operators[each]) != ORPHAN}
    leaving = [each for each in deployments if each["metadata"]["name"] in removed]
    for each in candidates:
        contents[each] = await _contents(session, required.operators[each], kept_namespaces, leaving)
    in_use = {each: found.in_use for each, found in contents.items() if each != name and found.in_use}
    deleted = required.deleted_with(name, in_use)
    is_refused = is_protected(found) and bool(contents[name].in_use) and contents[name].policy == CASCADE
    lines = [f"Operator {name} ({_runs(found)}) will be deleted.", *contents[name].lines]
    if is_refused:
        owner = owner_of(found)
        lines.append(
            "It is protected: the deletion will be refused as long as there are custom resources. To remove the protection: "
            + operators.unprotect_command(*((owner.kind, owner.name) if owner else (operators.KIND, name)))
        )
    going = {name, *deleted}
    lines += _dependency_lines(required, deleted, contents)
    lines += _staying_lines(required, name, going, in_use)
    undecided = [each for each, other in required.operators.items() if each not in going and _is_undecided(other)]
    if deleted and undecided:
        names = ", ".join(sorted(undecided))
        lines.append(f"Not resolved at present: {names}. If what runs there requires a dependency, it will stay.")
        deleted = []
    requiring = required.requiring_without(name, going)
    return Removal(name, (*lines, *_holds(requiring)), tuple(deleted), contents, requiring, is_refused)


def _dependency_lines(
    required: RequiredOperators, deleted: Iterable[str], contents: Mapping[str, Contents]
) -> Iterator[str]:
    for each in deleted:
        runs = _runs(required.operators[each])
        if required.is_deleting(each):
            yield f"Operator {each} ({runs}) is being deleted already, and will be gone with it."
        else:
            yield f"Operator {each} ({runs}), a dependency of it, will be deleted after it."
        yield from contents[each].lines


def _staying_lines(
    required: RequiredOperators, name: str, going: Collection[str], in_use: Mapping[str, str]
) -> Iterator[str]:
    for each in required.required_by([name]):
        if each not in going:
            yield f"Operator {each} {_why_it_stays(required, each, going, in_use)}."


def _why_it_stays(required: RequiredOperators, name: str, going: Collection[str], in_use: Mapping[str, str]) -> str:
    if required.is_deleting(name):
        return (
            f"is being deleted already, and waits for {', '.join(_requiring(required, name, going))}, which requires it"
        )
    if not is_dependency(required.operators[name]):
        return "will stay: it was not installed as a dependency"
    if name in in_use:
        return f"will stay: it is in use, by {in_use[name]}"
    return f"will stay: {', '.join(_requiring(required, name, going))} requires it"


def _requiring(required: RequiredOperators, name: str, going: Collection[str]) -> list[str]:
    """The Operators that stay and require it: directly, else indirectly."""
    indirect = (each for each in required.operators if each not in going and name in required.required_by([each]))
    return [each for each in required.requiring(name) if each not in going] or sorted(indirect)


def _holds(requiring: Requiring) -> Iterator[str]:
    """Explain what those that require the Operator and are not deleted with it mean for its deletion."""
    ends = (
        (requiring.holding, ": it will stay until these are deleted."),
        (requiring.deleting, ", which are being deleted: it will be deleted after these."),
        (
            requiring.waiting,
            ", which are not installed and do not keep it: it will be deleted, and then installed again.",
        ),
    )
    for names, end in ends:
        if names:
            yield f"It is required by {', '.join(names)}{end}"


def _is_undecided(found: Object) -> bool:
    """Report whether a bundle runs whose requirements the status does not name."""
    return bool(installed(found)) and not is_true(found, ConditionType.RESOLVED) and not dependencies(found)


def _runs(found: Object) -> str:
    return clean(installed(found)) or "nothing is installed"


def _policy(found: Object) -> str:
    policy: str = part(found, "spec", "install", "deletionPolicy") or CASCADE
    return policy


async def _contents(
    session: Session, found: Object, kept_namespaces: Collection[str], leaving: Sequence[Object] = ()
) -> Contents:
    """Read what is deleted with an Operator, without `kept_namespaces`, and without custom resources that the BundleDeployments
    `leaving` take along before."""
    deployment = await bundle_deployment_of(session, found)
    if deployment is None:
        return Contents(InstalledObjects((), ()), ())
    objects = await installed_objects(session, deployment, kept_namespaces)
    counts = await custom_resources(session, objects.objects, [deployment, *leaving])
    return Contents(objects, tuple(counts), _policy(found))


def consequences(objects: InstalledObjects, counts: Iterable[CustomResources], policy: str = CASCADE) -> Iterator[str]:
    """Sentences about what becomes of the objects of a bundle."""
    found = objects.objects
    by_crd = {each.crd: each for each in counts}
    if policy == ORPHAN:
        number = pluralize(len(found), "object")
        yield f"  Everything of it ({number}) will stay in the cluster, and will not be managed: deletionPolicy is Orphan"
        return
    for crd, count in by_crd.items():
        if policy == KEEP_CRDS:
            with_it = f", and with it {count}" if count.count != 0 else ""
            yield f"  CustomResourceDefinition {clean(crd)} will stay{with_it}: deletionPolicy is KeepCRDs"
        else:
            with_it = f", AND WITH IT {count}" if count.count != 0 else ", which has no custom resources"
            yield f"  CustomResourceDefinition {clean(crd)}{with_it}"
    for each in found:
        if each.kind.kind == _SHOWN_FIRST[0] and each.name in objects.deleted_namespaces:
            content = "and everything that is in it" if policy == CASCADE else "if nothing of others is in it"
            yield f"  Namespace {clean(each.name)}, {content}"
    rest = Counter(each.kind.kind for each in found if each.kind.kind not in _SHOWN_FIRST)
    if rest:
        yield f"  {', '.join(pluralize(number, kind) for kind, number in sorted(rest.items()))}"
    for problem in objects.problems:
        yield f"  unknown: {clean(problem)}"
