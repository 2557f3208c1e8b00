"""Gives everything back to OLM v1, until its objects are deleted.

    the suite serves neither kind
    each Operator that the migration has created goes, and its objects get back what was taken from them: see give_back.py
    the Operators and Catalogs that were made for the rest are deleted; nothing is installed by these Operators
    the ClusterExtensions lose the finalizer of the suite

An interrupted one is repeated. The controllers of OLM v1 are started afterwards, by the command.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from olmctl.commands import REFUSED, CommandError
from olmctl.migration.changes import change
from olmctl.migration.give_back import GiveBack
from olmctl.migration.v1.objects import CONTROLLERS, MARK, MARKS, OlmV1, installation_of, is_owned_by
from olmctl.migration.v1.plan import ExtensionPlan, MigrationPlan
from olmctl.migration.v1.read import owned_objects
from olmctl.migration.v1.removal import COMMAND
from olmctl.migration.v1.serving import stop_serving
from olmctl.migration.values import at, name_of, text
from olmctl.operators.follow import OPERATORS, DeletedKind, wait_until_gone
from olmctl.questions.session import Session
from olmctl.terminal_output import say
from olmkit.api import catalogs, clusterextensions, customresourcedefinitions, operators
from olmkit.api.meta import Kind, Object, unchanged_precondition
from olmkit.errors import NotFound

_CATALOGS = DeletedKind(catalogs.KIND, "catalog.catalogd.operatorframework.io", "waiting for catalogd")


@dataclass(frozen=True)
class Undo:
    """Gives everything back."""

    session: Session
    found: OlmV1
    plan: MigrationPlan
    seconds: float

    async def run(self) -> None:
        """Give it back. Raises CommandError with what is in the way."""
        await CONTROLLERS.require_stopped(self.session)
        self._require_nothing_new()
        await stop_serving(self.session)
        for each in self.plan.extensions:
            if each.is_begun:
                await self._give_back(each)
        await self._delete_made()
        for extension in self.found.extensions:
            await change(self.session, clusterextensions.KIND, extension, _without_finalizer)

    def _require_nothing_new(self) -> None:
        """Raises CommandError if the suite has installed what OLM v1 had not: its controllers could not take it over."""
        for each in self._made():
            installed = text(each, "status", "installed", "name")
            if installed:
                what = f"Operator {name_of(each)} has installed {installed}, which OLM v1 had not"
                raise CommandError(REFUSED, f"{what}: delete its ClusterExtension first, and repeat --undo")

    def _made(self) -> list[Object]:
        """The Operators that were made for ClusterExtensions without an installed bundle."""
        return [
            each
            for each in self.found.operators
            if MARK not in (at(each, "metadata", "labels") or {})
            and any(is_owned_by(each, extension) for extension in self.found.extensions)
        ]

    async def _give_back(self, plan: ExtensionPlan) -> None:
        operator = self.found.operator(plan.operator)
        is_marked = MARK in (at(operator, "metadata", "labels") or {})
        installation = installation_of(plan.extension)
        definitions = [
            name_of(each.obj)
            for each in self.found.objects[plan.name]
            if each.kind.group_kind == customresourcedefinitions.KIND.group_kind
        ]
        way = GiveBack(
            self.session,
            MARKS,
            olm="OLM v1",
            command=COMMAND,
            name=plan.operator,
            installation=installation.label,
            version=plan.version,
            since=text(operator, "metadata", "creationTimestamp") if is_marked else "",
            seconds=self.seconds,
            definitions=definitions,
            requested=("status", "wantedVersion"),
        )
        await way.delete_operator()
        objects = (await owned_objects(self.session, [installation]))[plan.name]
        await way.require_released(objects)
        given_back = sum([await way.give_back(each, {installation.uid}) for each in objects])
        say(f"{plan.name}: OLM v1 has {given_back} objects again")

    async def _delete_made(self) -> None:
        await self._delete(operators.KIND, self._made(), OPERATORS)
        own = (one for one in self.found.own_catalogs if any(is_owned_by(one, each) for each in self.found.catalogs))
        await self._delete(catalogs.KIND, own, _CATALOGS)

    async def _delete(self, kind: Kind, objects: Iterable[Object], deleted: DeletedKind) -> None:
        names = []
        for each in objects:
            names.append(name_of(each))
            try:
                await self.session.client.delete(kind, name_of(each), uid=each["metadata"]["uid"])
            except NotFound:
                continue
        await wait_until_gone(self.session, names, self.seconds, deleted)


def _without_finalizer(extension: Object) -> Object | None:
    finalizers = at(extension, "metadata", "finalizers") or []
    rest = [each for each in finalizers if each != clusterextensions.FINALIZER]
    return {"metadata": {**unchanged_precondition(extension), "finalizers": rest}} if rest != finalizers else None
