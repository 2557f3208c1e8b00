"""The Operators of the cluster: what is installed, what is requested, and what waits; and the BundleDeployments without one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from olmctl.questions.controller_state import RUKPAK, out_of_date
from olmctl.questions.crd_check import crd_check
from olmctl.questions.extensions import ExtensionProblem, all_extensions, problems_of
from olmctl.questions.left_installations import LeftInstallation, unowned_installations
from olmctl.questions.operator_state import available_version, condition, state, text_at
from olmctl.questions.owners import owner_of
from olmctl.questions.session import Session
from olmkit.api import operators
from olmkit.api.meta import Object


@dataclass(frozen=True)
class OperatorRow:
    """An Operator in a list. A text is empty if there is nothing."""

    name: str
    package: str
    version: str
    """The version that is installed."""
    wanted: str
    available: str
    """The version of an upgrade that waits."""
    is_available_refused: bool
    """True if rules about CustomResourceDefinitions would refuse that version."""
    channel: str
    catalog: str
    state: str
    """One word: Ready, or the reason why it is not."""
    created: str
    """The time of its creation."""
    message: str
    owner: str
    """The kind and the name of what it belongs to."""

    @classmethod
    def of(cls, obj: Object, problem: ExtensionProblem | None = None) -> OperatorRow:
        """The row of an Operator. `problem`: that of its ClusterExtension."""
        return cls(
            obj["metadata"]["name"],
            text_at(obj, "spec", "packageName"),
            text_at(obj, "status", "installed", "version"),
            text_at(obj, "status", "wantedVersion"),
            available_version(obj),
            (check := crd_check(obj)) is not None and check.is_refused,
            text_at(obj, "status", "installed", "channel"),
            text_at(obj, "status", "installed", "catalog"),
            problem.state if problem else state(obj),
            obj["metadata"]["creationTimestamp"],
            problem.message if problem else text_at(condition(obj, "Ready"), "message"),
            str(owner_of(obj) or ""),
        )


@dataclass(frozen=True)
class OperatorList:
    """The Operators by name, and the BundleDeployments without one."""

    operators: tuple[Object, ...]
    unowned: tuple[LeftInstallation, ...]
    warnings: tuple[str, ...]
    """Sentences about what may be out of date."""
    extensions: tuple[Object, ...] = ()
    problems: Mapping[str, ExtensionProblem] = field(default_factory=dict)
    """The problems of ClusterExtensions by the name of their Operator."""


async def all_operators(session: Session, *, with_others: bool = True) -> OperatorList:
    """The Operators of the cluster, and unless that is not wanted the ClusterExtensions, and the BundleDeployments without an
    Operator. Raises ApiError."""
    found, _ = await session.client.list(operators.KIND)
    found.sort(key=lambda each: str(each["metadata"]["name"]))
    unowned = await unowned_installations(session) if with_others else []
    extensions = await all_extensions(session) if with_others else []
    warnings = await out_of_date(session, found)
    warnings += await out_of_date(session, [each.deployment for each in unowned], RUKPAK)
    return OperatorList(tuple(found), tuple(unowned), warnings, tuple(extensions), problems_of(extensions, found))
