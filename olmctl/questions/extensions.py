"""ClusterExtensions: for who names one of them where `olm` expects an Operator; those whose Operator is not created yet; and
those that have a problem while their Operator is Ready.

A cluster that does not serve them, and a user who may not read them, have none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from olmctl.questions.operator_state import condition, is_true, part, text_at
from olmctl.questions.owners import is_called, owner_of
from olmctl.questions.requested_fields import channels_text
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmkit.api import clusterextensions, operators
from olmkit.api.clusterextensions import ConditionType, Reason, extension_of, operator_name
from olmkit.api.meta import Object
from olmkit.api.operators import ConditionType as ReadyType
from olmkit.errors import ApiError, NotFound


@dataclass(frozen=True)
class WaitingExtension:
    """A ClusterExtension without an Operator. A text is empty if there is nothing."""

    extension: Object

    @property
    def name(self) -> str:
        """Its name."""
        return text_at(self.extension, "metadata", "name")

    @property
    def package(self) -> str:
        """The package that it requests."""
        return text_at(self.extension, "spec", "source", "catalog", "packageName")

    @property
    def asked(self) -> str:
        """The fields of the spec that select a version."""
        catalog = (self.extension["spec"].get("source") or {}).get("catalog") or {}
        version = text_at(catalog, "version")
        texts = f"package {self.package}", f"version {version}" if version else "", channels_text(catalog)
        return ", ".join(filter(None, texts))

    @property
    def state(self) -> str:
        """One word: the reason of Progressing."""
        return text_at(self._progressing, "reason") or "Pending"

    @property
    def message(self) -> str:
        """The message of Progressing."""
        return text_at(self._progressing, "message")

    @property
    def sentence(self) -> str:
        """That it waits, and the command that explains it."""
        return clean(f"ClusterExtension {self.name} has no Operator yet: `olm why {self.name}` shows its conditions")

    @property
    def _progressing(self) -> Object | None:
        return condition(self.extension, ConditionType.PROGRESSING)


@dataclass(frozen=True)
class ExtensionProblem:
    """The reason and the message of Progressing of a ClusterExtension, which its Operator does not report: it is Ready, and keeps
    the last spec that it could have."""

    state: str
    message: str

    @classmethod
    def of(cls, extension: Object, operator: Object) -> ExtensionProblem | None:
        """The problem; None if there is none, or if the Operator reports it."""
        progressing = condition(extension, ConditionType.PROGRESSING)
        reason = text_at(progressing, "reason")
        is_reported = part(operator, "status", "failure") or (
            reason == Reason.BLOCKED and part(operator, "status", "available")
        )
        if not reason or reason == Reason.SUCCEEDED or is_reported or not is_true(operator, ReadyType.READY):
            return None
        return cls(reason, text_at(progressing, "message"))


async def all_extensions(session: Session) -> list[Object]:
    """The ClusterExtensions of the cluster, as far as they may be read."""
    try:
        listed, _ = await session.client.list(clusterextensions.KIND)
    except ApiError:
        return []
    return listed


def problems_of(extensions: Iterable[Object], found: Iterable[Object]) -> dict[str, ExtensionProblem]:
    """The problems of ClusterExtensions by the name of their Operator, which are these."""
    named = {text_at(each, "metadata", "name"): each for each in extensions}
    pairs = ((each, named.get(extension_of(each))) for each in found)
    problems = ((text_at(each, "metadata", "name"), ExtensionProblem.of(owner, each)) for each, owner in pairs if owner)
    return {name: problem for name, problem in problems if problem is not None}


async def problem_of(session: Session, operator: Object) -> ExtensionProblem | None:
    """The problem of the ClusterExtension that an Operator belongs to; None if there is none, or if it may not be read."""
    owner = extension_of(operator)
    found = await waiting_extension(session, owner) if owner else None
    return ExtensionProblem.of(found.extension, operator) if found is not None else None


async def operator_of(session: Session, name: str) -> Object:
    """The Operator of that name, or of the ClusterExtension of that name, whose Operator has a shorter one. Raises ApiError."""
    try:
        return await session.client.get(operators.KIND, name)
    except NotFound:
        shorter = operator_name(name)
        found = await _named(session, shorter) if shorter != name else None
        if found is None or not is_called(found, name):
            raise
        return found


async def _named(session: Session, name: str) -> Object | None:
    try:
        return await session.client.get(operators.KIND, name)
    except NotFound:
        return None


async def waiting_extension(session: Session, name: str) -> WaitingExtension | None:
    """The ClusterExtension of that name; None if there is none, or if the user may not read it."""
    try:
        return WaitingExtension(await session.client.get(clusterextensions.KIND, name))
    except ApiError:
        return None


def without_operator(listed: Iterable[Object], found: Iterable[Object]) -> list[WaitingExtension]:
    """The ClusterExtensions by name to which none of the Operators belongs."""
    owners = {owner.name for each in found if (owner := owner_of(each))}
    waiting = (WaitingExtension(each) for each in listed)
    return sorted((each for each in waiting if each.name not in owners), key=lambda each: each.name)
