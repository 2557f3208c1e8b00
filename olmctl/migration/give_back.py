"""Takes an Operator away that a migration has created, and gives its objects back to the OLM that had them.

    the objects that the Operator has created are marked as new
    the Operator is deleted with deletionPolicy Orphan: nothing of what it has is deleted
    what is new is deleted, everything else gets back what was taken from it

Each step is found again on the cluster, so that an interrupted one is repeated. Never deletes a CustomResourceDefinition, a
custom resource of the package, a Namespace, or what was there before: an object is marked as new only if the Operator's
BundleDeployment has applied it, and it is not older than the migration; a mark counts only as it was applied here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from olmctl.commands import REFUSED, CommandError
from olmctl.migration.changes import PatchOf, change
from olmctl.migration.listing import Found
from olmctl.migration.records import Marks, is_created_by
from olmctl.migration.values import at, name_of, namespace_of, text
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


@dataclass(frozen=True)
class GiveBack:
    """The way back of one installation."""

    session: Session
    marks: Marks
    olm: str
    """The OLM that has had it, for messages."""
    command: str
    """The command that continues the migration."""
    name: str
    """The name of the Operator."""
    installation: str
    """The value of the label of its objects."""
    version: str
    """The version that is installed."""
    since: str
    """The time when its migration has begun, as the API server writes it; "" if nothing shows it."""
    seconds: float
    definitions: Collection[str] = ()
    """The names of the CustomResourceDefinitions that it owns."""
    requested: tuple[str, ...] = ("spec", "version")
    """The path to the version that the Operator is to have."""

    async def delete_operator(self) -> None:
        """Delete the Operator, and nothing of what it has installed. Raises CommandError."""
        try:
            operator = await self.session.client.get(operators.KIND, self.name)
        except NotFound:
            return
        if text(operator, "metadata", "labels", self.marks.key) != self.installation:
            text_ = f"Operator {self.name} was not created by the migration"
            raise CommandError(
                REFUSED, f"{text_}: set its deletionPolicy to {ORPHAN}, and delete it where it comes from"
            )
        self.require_same_version(operator)
        deployment = await bundle_deployment_of(self.session, operator)
        if deployment is not None:
            await self._mark_new_objects(deployment)
        if not at(operator, "metadata", "deletionTimestamp"):
            change_ = {"spec": {"install": {"deletionPolicy": ORPHAN}}}
            await self.session.client.patch(operators.KIND, self.name, change_)
            if deployment is not None:
                await self._until_orphaned()
            await self.session.client.delete(operators.KIND, self.name, uid=operator["metadata"]["uid"])
        await wait_until_gone(self.session, [self.name], self.seconds)

    def require_same_version(self, operator: Object) -> None:
        """Raises CommandError if the Operator has another version than was moved, or is to have it: the other OLM would put the
        older one over the data of the later one."""
        for version in (text(operator, "status", "installed", "version"), text(operator, *self.requested)):
            if version not in ("", self.version):
                text_ = f"Operator {self.name} has version {version}, and {self.olm} has {self.version}"
                raise CommandError(REFUSED, f"{text_}: it cannot be given back; `{self.command}` continues")

    async def _mark_new_objects(self, deployment: Object) -> None:
        """Mark what the Operator has created, so that it is found when it has no label of rukpak any more."""
        for each in (await installed_objects(self.session, deployment)).objects:
            labels = at(each.obj, "metadata", "labels") or {}
            if self.marks.key not in labels and self._is_new(each.kind, each.obj, manager_name(self.name)):
                await change(self.session, each.kind, each.obj, self._marking(each.kind), self.marks.manager)

    def _marking(self, kind: Kind) -> PatchOf:
        def patch(obj: Object) -> Object | None:
            is_marked = self.marks.key in (at(obj, "metadata", "labels") or {})
            return None if is_marked else self.marks.marked_new(kind, obj, self.installation)

        return patch

    def _is_new(self, kind: Kind, obj: Object, manager: str, *path: str) -> bool:
        """Report whether this manager has created the object, or owns this field of it, and it may be deleted."""
        is_custom = f"{kind.plural}.{kind.group}" in self.definitions
        is_kept = kind.group_kind in _NEVER_DELETED or is_custom
        return not is_kept and is_created_by(obj, manager, self.since, *path)

    async def require_released(self, objects: Sequence[Found]) -> None:
        """Wait until the BundleDeployment of the Operator is gone. Raises CommandError if it stays, and has objects: it was left
        without its Operator, and would go on applying them."""
        try:
            deployment = await self.session.client.get(bundledeployments.KIND, self.name)
        except NotFound:
            return
        uid = deployment["metadata"]["uid"]
        if not any(text(each.obj, "metadata", "labels", OWNER_UID_LABEL) == uid for each in objects):
            return
        is_owned = bool(at(deployment, "metadata", "ownerReferences"))
        if not (is_terminating(deployment) or (is_owned and text(deployment, "spec", "deletionPolicy") == ORPHAN)):
            policy = f'{{"spec":{{"deletionPolicy":"{ORPHAN}"}}}}'
            command = f"kubectl patch bundledeployment {self.name} --type merge -p '{policy}'"
            what = f"BundleDeployment {self.name} has what was taken from {self.olm}, and no Operator"
            raise CommandError(
                REFUSED, f"{what}: it would go on applying it; `{command}`, delete it, and repeat --undo"
            )
        await wait_until_gone(self.session, [self.name], self.seconds, _DEPLOYMENTS)

    async def _until_orphaned(self) -> None:
        """Wait until the BundleDeployment is to keep everything."""

        def message(found: Object | None) -> str | None:
            is_kept = found is None or text(found, "spec", "deletionPolicy") == ORPHAN
            return None if is_kept else "waits until its objects are kept"

        deadline, late = self.session.time.deadline(self.seconds), f"not within {self.seconds:g} seconds: {{}}"
        await follow(self.session, bundledeployments.KIND, self.name, deadline, message, late)

    async def give_back(self, found: Found, owners: Collection[str]) -> bool:
        """Restore one object, or delete it if it is new. Reports if the other OLM has it again."""
        record = self.marks.record_of(found.obj)
        if (
            record is not None
            and record.is_new
            and self._is_new(found.kind, found.obj, self.marks.manager, *self.marks.field)
        ):
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
            is_marked = self.marks.key in (at(obj, "metadata", "labels") or {})
            return self.marks.restored(obj, owners) if is_marked else None

        await change(self.session, found.kind, found.obj, patch)
        return record is not None and not record.is_new
