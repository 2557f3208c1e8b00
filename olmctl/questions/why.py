"""The state of an Operator and its reasons: which version was chosen and why, what it requires, and what requires it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import quote

from olmctl.questions import port_forward
from olmctl.questions.controller_state import out_of_date
from olmctl.questions.crd_check import CrdCheck, crd_check
from olmctl.questions.errors import after
from olmctl.questions.extensions import WaitingExtension, operator_of, problem_of, waiting_extension
from olmctl.questions.installed_objects import bundle_deployment_of
from olmctl.questions.left_installations import LeftInstallation, unowned_installation
from olmctl.questions.next_steps import is_held_by_condition, next_steps
from olmctl.questions.operator_state import (
    available_text,
    awaits_approval,
    condition,
    conditions,
    dependencies,
    failure_text,
    installed,
    is_true,
    part,
    state,
    text_at,
)
from olmctl.questions.owners import owner_of
from olmctl.questions.requested_fields import channels_text
from olmctl.questions.required_operators import RequiredOperators
from olmctl.questions.session import Session
from olmkit.api import operators
from olmkit.api.clusterextensions import operator_name
from olmkit.api.meta import Object
from olmkit.api.operator_status import RequiredPackage
from olmkit.api.operators import ConditionType
from olmkit.api.ownership import is_dependency
from olmkit.errors import ApiError, Forbidden, NotFound

_ASKED = {"packageName": "package", "version": "version"}
_EXPLAINING = ("resolution", "available", "wanted", "failure", "deprecations", "conditions")


@dataclass(frozen=True)
class ConditionRow:
    """A condition of an object."""

    kind: str
    status: str
    reason: str
    message: str
    """Its message; a message that several conditions have is in the first one, and the others name that."""


@dataclass(frozen=True)
class Why:
    """An Operator, explained. A text is empty if there is nothing."""

    name: str
    owner: str
    """The kind and the name of what it belongs to."""
    asked: str
    """The fields of the spec that select a version."""
    state: str
    failure: str
    """The reason of its failure, with the names that it is about."""
    installed: str
    available: str
    """The version of an upgrade that waits, and why."""
    awaits_approval: bool
    resolution: str
    """The reason why this version was chosen, or none."""
    conditions: tuple[ConditionRow, ...]
    status: Object
    """The part of the status that explains it."""
    warnings: tuple[str, ...]
    """Sentences about what may be out of date."""
    is_dependency: bool
    """True if it was installed because another one requires it."""
    crd_check: CrdCheck | None = None
    """The rules about definitions that would refuse the version that waits; None if none is known."""
    requires: tuple[str, ...] = ()
    """A sentence about each requirement of its bundle."""
    next_steps: str = ""
    """The commands that help, if it does not get what it asks for."""
    extension: str = ""
    """The message of its ClusterExtension, if that has a problem that the Operator does not report."""
    required_by: tuple[str, ...] = ()
    """The names of the Operators that require it."""


async def why(
    session: Session, name: str, *, with_requirements: bool = True
) -> Why | LeftInstallation | WaitingExtension:
    """Explain the Operator of that name, or of the ClusterExtension of that name. Without one find the BundleDeployment that is
    there, also for who may not read Operators, else the ClusterExtension. Raises NotFound, ApiError. `with_requirements`: read
    the other Operators too."""
    try:
        found = await operator_of(session, name)
    except (NotFound, Forbidden):
        without = await unowned_installation(session, name) or await waiting_extension(session, name)
        if without is None:
            raise
        return without
    warnings = await out_of_date(session, [found])
    requires: tuple[str, ...] = ()
    required_by: tuple[str, ...] = ()
    if with_requirements:
        with after(warnings):
            listed, _ = await session.client.list(operators.KIND)
            required = RequiredOperators([*listed, found])
        requires = tuple(_required(each, required.operators.get(each.operator or "")) for each in dependencies(found))
        required_by = tuple(required.requiring(found["metadata"]["name"]))
    status, problem = found.get("status") or {}, await problem_of(session, found)
    return Why(
        name=found["metadata"]["name"],
        owner=str(owner_of(found) or ""),
        asked=_asked(found),
        state=problem.state if problem else state(found),
        failure=failure_text(found),
        installed=installed(found),
        available=available_text(found),
        awaits_approval=awaits_approval(found),
        resolution=text_at(found, "status", "resolution"),
        conditions=condition_rows(found),
        status={key: status[key] for key in _EXPLAINING if key in status},
        warnings=warnings,
        is_dependency=is_dependency(found),
        crd_check=crd_check(found),
        requires=requires,
        next_steps=await _next_steps(session, found),
        extension=problem.message if problem else "",
        required_by=required_by,
    )


def _asked(found: Object) -> str:
    fields = [f"{shown} {value}" for key, shown in _ASKED.items() if (value := text_at(found, "spec", key))]
    asked = ", ".join(filter(None, [*fields, channels_text(found["spec"])]))
    excluded = part(found, "spec", "excludedVersions")
    return f"{asked}, without {', '.join(map(str, excluded))}" if excluded else asked


async def _next_steps(session: Session, operator: Object) -> str:
    deployment: Object | None = None
    if not is_true(operator, ConditionType.READY) or is_held_by_condition(operator):
        with suppress(ApiError):
            deployment = await bundle_deployment_of(session, operator)
    return next_steps(operator, deployment)


def condition_rows(found: Object) -> tuple[ConditionRow, ...]:
    """The conditions of an object."""
    rows: list[ConditionRow] = []
    first: dict[str, str] = {}
    for each in conditions(found):
        kind, status, reason, message = (text_at(each, key) for key in ("type", "status", "reason", "message"))
        holder = first.setdefault(message, kind)
        rows.append(ConditionRow(kind, status, reason, f"as {holder}" if message and holder != kind else message))
    return tuple(rows)


async def trace(session: Session, name: str) -> Object:
    """The last resolution of the Operator of that name, or of the ClusterExtension of that name, from the debug server of
    operator-controller. Raises ApiError."""
    return await port_forward.get(
        session, port_forward.OPERATOR_CONTROLLER, f"/debug/resolutions/{quote(operator_name(name), safe='')}"
    )


def _required(each: RequiredPackage, operator: Object | None) -> str:
    """One requirement; of an Operator that is not installed its whole message, which the messages of others shorten."""
    place = f"Operator {each.operator}" if each.operator else "no Operator"
    message = "" if each.installed or operator is None else text_at(condition(operator, "Ready"), "message")
    text = f"{each.package} {each.version} ({place}, {'' if each.installed else 'not '}installed): {each.requirement}"
    return f"{text}; it is not installed: {message}" if message else text
