"""Gives a package back to OLM v0, until its objects there are deleted.

    the objects that the Operator has created are marked as new
    the Operator is deleted with deletionPolicy Orphan: nothing of what it has is deleted
    what is new is deleted, everything else gets back what was taken from it
    the ClusterServiceVersion loses its mark

Each step is found again on the cluster, so that an interrupted one is repeated. Never deletes a CustomResourceDefinition, a
custom resource of the package, a Namespace, or what was there before: an object is marked as new only if the Operator's
BundleDeployment has applied it, and it is not older than the migration; a mark counts only as it was applied here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from olmctl.commands import REFUSED, CommandError
from olmctl.migration.controllers import note_ended, require_stopped
from olmctl.migration.marks import (
    MARK,
    MARK_FIELD,
    MARK_MANAGER,
    is_being_removed,
    is_created_by,
    marked_new,
    marked_since,
    record_of,
    restored,
)
from olmctl.migration.packages import PackagePlan, version_of
from olmctl.migration.read import Found, installation_of, owned_objects
from olmctl.migration.steps import PatchOf, change, without_mark
from olmctl.migration.v0 import SERVICE_VERSIONS, OlmV0, at, items, name_of, namespace_of, text
from olmctl.operators.follow import DeletedKind, follow, wait_until_gone
from olmctl.questions.installed_objects import bundle_deployment_of, installed_objects
from olmctl.questions.operator_state import is_terminating
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmctl.terminal_output import say
from olmkit.api import bundledeployments, customresourcedefinitions, operators
from olmkit.api.bundledeployments import OWNER_UID_LABEL
from olmkit.api.meta import Kind, Object
from olmkit.api.ownership import manager_name
from olmkit.errors import NotFound

ORPHAN = "Orphan"
_DEPLOYMENTS = DeletedKind(bundledeployments.KIND, "bundledeployment.core.rukpak.io", "waiting for rukpak")
_NEVER_DELETED = frozenset({("", "Namespace"), customresourcedefinitions.KIND.group_kind})


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

    async def run(self) -> None:
        """Give it back. Raises CommandError if it is too late."""
        version = self.plan.version or {}
        if is_being_removed(version) or at(version, "metadata", "deletionTimestamp"):
            raise too_late(self.plan.package)
        await require_stopped(self.session)
        await self._delete_operator()
        installation = installation_of(self.found, self.plan.package, self.plan.namespace, name_of(version))
        installation, objects = await owned_objects(self.session, self.found, installation)
        await self.require_released(objects)
        uids = {each["metadata"]["uid"] for each in self.found.versions} | installation.owners
        given_back = sum([await self.give_back(each, uids) for each in objects])
        await change(self.session, SERVICE_VERSIONS, version, without_mark)
        await note_ended(self.session, version, self.plan.package)
        say(f"{self.plan.package}: OLM v0 has {given_back} objects again")

    async def _delete_operator(self) -> None:
        """Delete the Operator, and nothing of what it has installed."""
        try:
            operator = await self.session.client.get(operators.KIND, self.plan.name)
        except NotFound:
            return
        if text(operator, "metadata", "labels", MARK) != self.plan.package:
            text_ = f"Operator {self.plan.name} was not created by the migration"
            raise CommandError(
                REFUSED, f"{text_}: set its deletionPolicy to {ORPHAN}, and delete it where it comes from"
            )
        self.require_same_version(operator)
        deployment = await bundle_deployment_of(self.session, operator)
        if deployment is not None:
            await self._mark_new_objects(deployment)
        if not at(operator, "metadata", "deletionTimestamp"):
            change_ = {"spec": {"install": {"deletionPolicy": ORPHAN}}}
            await self.session.client.patch(operators.KIND, self.plan.name, change_)
            if deployment is not None:
                await self._until_orphaned()
            await self.session.client.delete(operators.KIND, self.plan.name, uid=operator["metadata"]["uid"])
        await wait_until_gone(self.session, [self.plan.name], self.seconds)

    def require_same_version(self, operator: Object) -> None:
        """Raises CommandError if the Operator has another version than OLM v0, or is to have it: OLM v0 would put the older one
        over the data of the later one."""
        wanted = version_of(self.plan.version or {})
        for version in (text(operator, "status", "installed", "version"), text(operator, "spec", "version")):
            if version not in ("", wanted):
                text_ = (
                    f"Operator {self.plan.name} has version {version}, and OLM v0 has {wanted}: it cannot be given back"
                )
                raise CommandError(REFUSED, f"{text_}; `olm migrate v0 {self.plan.package}` continues")

    async def _mark_new_objects(self, deployment: Object) -> None:
        """Mark what the Operator has created, so that it is found when it has no label of rukpak any more."""
        for each in (await installed_objects(self.session, deployment)).objects:
            labels = at(each.obj, "metadata", "labels") or {}
            if MARK not in labels and self._is_new(each.kind, each.obj, manager_name(self.plan.name)):
                await change(self.session, each.kind, each.obj, self._marking(each.kind), MARK_MANAGER)

    def _marking(self, kind: Kind) -> PatchOf:
        def patch(obj: Object) -> Object | None:
            is_marked = MARK in (at(obj, "metadata", "labels") or {})
            return None if is_marked else marked_new(kind, obj, self.plan.package)

        return patch

    def _is_new(self, kind: Kind, obj: Object, manager: str, *path: str) -> bool:
        """Report whether this manager has created the object, or owns this field of it, and it may be deleted."""
        owned = items(self.plan.version, "spec", "customresourcedefinitions", "owned")
        is_custom = f"{kind.plural}.{kind.group}" in {text(each, "name") for each in owned}
        since = marked_since(self.plan.version or {})
        is_kept = kind.group_kind in _NEVER_DELETED or is_custom
        return not is_kept and is_created_by(obj, manager, since, *path)

    async def require_released(self, objects: Sequence[Found]) -> None:
        """Wait until the BundleDeployment of the Operator is gone. Raises CommandError if it stays, and has objects: it was left
        without its Operator, and would go on applying them."""
        try:
            deployment = await self.session.client.get(bundledeployments.KIND, self.plan.name)
        except NotFound:
            return
        uid = deployment["metadata"]["uid"]
        if not any(text(each.obj, "metadata", "labels", OWNER_UID_LABEL) == uid for each in objects):
            return
        is_owned = bool(at(deployment, "metadata", "ownerReferences"))
        if not (is_terminating(deployment) or (is_owned and text(deployment, "spec", "deletionPolicy") == ORPHAN)):
            name = self.plan.name
            policy = f'{{"spec":{{"deletionPolicy":"{ORPHAN}"}}}}'
            command = f"kubectl patch bundledeployment {name} --type merge -p '{policy}'"
            text_ = (
                f"BundleDeployment {name} has what was taken from OLM v0, and no Operator: it would go on applying it"
            )
            raise CommandError(REFUSED, f"{text_}; `{command}`, delete it, and repeat --undo")
        await wait_until_gone(self.session, [self.plan.name], self.seconds, _DEPLOYMENTS)

    async def _until_orphaned(self) -> None:
        """Wait until the BundleDeployment is to keep everything."""

        def message(found: Object | None) -> str | None:
            is_kept = found is None or text(found, "spec", "deletionPolicy") == ORPHAN
            return None if is_kept else "waits until its objects are kept"

        deadline, late = self.session.time.deadline(self.seconds), f"not within {self.seconds:g} seconds: {{}}"
        await follow(self.session, bundledeployments.KIND, self.plan.name, deadline, message, late)

    async def give_back(self, found: Found, version_uids: set[str]) -> bool:
        """Restore one object, or delete it if it is new. Reports if OLM v0 has it again."""
        record = record_of(found.obj)
        if record is not None and record.is_new and self._is_new(found.kind, found.obj, MARK_MANAGER, *MARK_FIELD):
            metadata = found.obj["metadata"]
            try:
                await self.session.client.delete(
                    found.kind, name_of(found.obj), namespace_of(found.obj) or None, uid=metadata["uid"]
                )
            except NotFound:
                return False
            return False
        if record is not None and record.is_new:
            why = "its record says that the migration has created it, which it has not: it is left as it is"
            say(f"warning: {clean(str(found))}: {why}", err=True)

        def patch(obj: Object) -> Object | None:
            return restored(obj, version_uids) if MARK in (at(obj, "metadata", "labels") or {}) else None

        await change(self.session, found.kind, found.obj, patch)
        return record is not None and not record.is_new
