"""Gives a package back to OLM v0, until its objects there are deleted: the Operator goes as give_back.py says, and the
ClusterServiceVersion loses its mark. An interrupted one is repeated.
"""

from __future__ import annotations

from dataclasses import dataclass

from olmctl.commands import REFUSED, CommandError
from olmctl.migration.changes import change
from olmctl.migration.controllers import CONTROLLERS, note_ended
from olmctl.migration.give_back import GiveBack
from olmctl.migration.marks import MARKS, is_past_undo
from olmctl.migration.packages import PackagePlan, version_of
from olmctl.migration.read import installation_of, owned_objects
from olmctl.migration.steps import without_mark
from olmctl.migration.v0 import SERVICE_VERSIONS, OlmV0
from olmctl.migration.values import items, name_of, text
from olmctl.questions.session import Session
from olmctl.terminal_output import say


def too_late(package: str) -> CommandError:
    """The error for a package of which objects of OLM v0 are deleted already."""
    text_ = f"what OLM v0 has of package {package} is being deleted: it cannot be given back"
    return CommandError(REFUSED, f"{text_}; `olm migrate v0 {package}` continues")


@dataclass(frozen=True)
class Undo:
    """Gives one package back."""

    session: Session
    found: OlmV0
    plan: PackagePlan
    seconds: float

    @property
    def way(self) -> GiveBack:
        """The way back of its Operator."""
        version, package = self.plan.version or {}, self.plan.package
        definitions = {text(each, "name") for each in items(version, "spec", "customresourcedefinitions", "owned")}
        return GiveBack(
            self.session,
            MARKS,
            olm="OLM v0",
            command=f"olm migrate v0 {package}",
            name=self.plan.name,
            installation=package,
            version=version_of(version),
            since=MARKS.marked_since(version),
            seconds=self.seconds,
            definitions=definitions,
        )

    async def run(self) -> None:
        """Give it back. Raises CommandError if it is too late."""
        version = self.plan.version or {}
        if is_past_undo(version):
            raise too_late(self.plan.package)
        await CONTROLLERS.require_stopped(self.session)
        await self.way.delete_operator()
        installation = installation_of(self.found, self.plan.package, self.plan.namespace, name_of(version))
        installation, objects = await owned_objects(self.session, self.found, installation)
        await self.way.require_released(objects)
        uids = {each["metadata"]["uid"] for each in self.found.versions} | installation.owners
        given_back = sum([await self.way.give_back(each, uids) for each in objects])
        await change(self.session, SERVICE_VERSIONS, version, without_mark)
        await note_ended(self.session, version, self.plan.package)
        say(f"{self.plan.package}: OLM v0 has {given_back} objects again")
