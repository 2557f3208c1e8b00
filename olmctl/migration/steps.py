"""Moves one package from OLM v0 to the suite. What has been done is read from the cluster, so that it continues after any write.

    0  the controllers of OLM v0 get a note of it, before anybody asks again if they are stopped
    1  the Catalog serves the package in the installed version
    2  every object of the ClusterServiceVersion is taken from OLM v0, one patch each
    3  the Operator takes them over, and is Ready with the installed version
    4  the objects of OLM v0 are deleted: see removal.py

Until the fourth step everything can be given back: see undo.py. No custom resource is written or deleted, and no
CustomResourceDefinition is deleted.
"""

from __future__ import annotations

from dataclasses import dataclass

from olmctl.commands import FAILED, REFUSED, CommandError
from olmctl.migration.changes import change
from olmctl.migration.controllers import CONTROLLERS, note_begun, note_ended
from olmctl.migration.listing import Found
from olmctl.migration.marks import MARK, MARKS, Installation
from olmctl.migration.packages import PackagePlan, changes_since, is_later_version, version_of
from olmctl.migration.pods import report_pods
from olmctl.migration.read import installation_of, owned_objects, read_olm_v0
from olmctl.migration.v0 import SERVICE_VERSIONS, OlmV0
from olmctl.migration.values import at, text
from olmctl.operators.follow import follow, wait_for_operator
from olmctl.operators.install import apply_operator
from olmctl.questions.catalog_offers import offered_entries
from olmctl.questions.offered_versions import check_version
from olmctl.questions.operator_state import condition, is_observed, is_true, part, text_at
from olmctl.questions.packages import check_channels
from olmctl.questions.requested_fields import followed_channels
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmctl.terminal_output import say
from olmkit.api import catalogs, operators
from olmkit.api.meta import Object, unchanged_precondition
from olmkit.errors import Conflict, NotFound


@dataclass
class _Written:
    """The writes of this run itself, or those that it was about to do when it was interrupted: only they are taken back, because
    another run of the same package may go on with what it has written."""

    note: bool = False
    mark: bool = False

    def set_note(self, is_written: bool) -> None:
        """The note is being written, or others were first."""
        self.note = is_written


@dataclass(frozen=True)
class Move:
    """The migration of one package."""

    session: Session
    plan: PackagePlan
    seconds: float

    async def run(self) -> None:
        """Do all but the deletion of the objects of OLM v0. Raises CommandError with what is in the way."""
        operator = await self._own_operator()
        if operator is not None and text(operator, "metadata", "labels", MARK) == self.plan.package:
            installed = text(operator, "status", "installed", "version")
            if is_later_version(installed, version_of(self.plan.version or {})):
                say(f"{self.plan.package}: its Operator has been upgraded to {installed}")
                return
            operator = None  # applied again as planned
        found = await self._begin(is_new=operator is None)
        version = text(self.plan.subscription, "status", "installedCSV")
        installation = installation_of(found, self.plan.package, self.plan.namespace, version)
        installation, objects = await owned_objects(self.session, found, installation)
        say(f"{self.plan.package}: {len(objects)} objects are taken from OLM v0")
        for each in objects:
            await take(self.session, each, installation)
        if operator is None:
            await self._create_operator()
        is_done = operator is not None and is_true(operator, "Ready")
        before = None if is_done else operator
        wanted = version_of(self.plan.version or {})
        await wait_for_operator(self.session, self.plan.name, self.seconds, wanted, before=before)
        await report_pods(self.session, MARKS, objects)

    async def _begin(self, *, is_new: bool) -> OlmV0:
        """Do what changes nothing of OLM v0 but the mark; returns what it has while its controllers are stopped. The note comes
        first: the end of another migration that would start them sees it, or the question after it sees that they run. Raises
        CommandError; then nothing has begun."""
        version = self.plan.version or {}
        written = _Written()

        def marked(obj: Object) -> Object | None:
            patch = self._marked(obj)
            written.mark = patch is not None
            return patch

        try:
            await note_begun(self.session, version, self.plan.package, written.set_note)
            await change(self.session, SERVICE_VERSIONS, version, marked)
            await self._provide_catalog()
            await CONTROLLERS.require_stopped(self.session)
            found = await read_olm_v0(self.session)
            changes = list(changes_since(self.plan, found))
            if changes:
                why = f"OLM v0 has changed since the plan was made: {'; '.join(changes)}"
                raise CommandError(
                    REFUSED, f"{self.plan.package}: {why}: nothing is taken from it; run the command again"
                )
            if is_new:
                await apply_operator(self.session, self._manifest(), is_forced=False, is_dry_run=True)
        except BaseException:
            if written.mark:
                await change(self.session, SERVICE_VERSIONS, version, without_mark)
            if written.note:
                await note_ended(self.session, version, self.plan.package)
            raise
        return found

    def _marked(self, version: Object) -> Object | None:
        """The patch by which an interrupted migration is found."""
        if text(version, "metadata", "labels", MARK) == self.plan.package:
            return None
        return {"metadata": {**unchanged_precondition(version), "labels": {MARK: self.plan.package}}}

    async def _own_operator(self) -> Object | None:
        """The Operator that exists already for the package, such as one from git, or of an earlier run; None if it is to be
        created. Raises CommandError if it cannot take over."""
        try:
            found = await self.session.client.get(operators.KIND, self.plan.name)
        except NotFound:
            return None
        if text(found, "metadata", "labels", MARK) == self.plan.package:
            return found
        spec, wanted = at(found, "spec") or {}, at(self.plan.operator, "spec") or {}
        fields = (("packageName",), ("version",), ("install", "namespace"), ("install", "adoptionPolicy"))
        different = [".".join(path) for path in fields if at(spec, *path) != at(wanted, *path)]
        if different:
            text_ = (
                f"Operator {self.plan.name} exists, and its spec.{', spec.'.join(different)} is not that of the plan"
            )
            raise CommandError(REFUSED, f"{text_} (olm migrate v0 {self.plan.package} -o yaml)")
        return found

    async def _provide_catalog(self) -> None:
        """Create the Catalog, and wait until it offers the installed version. Raises CommandError if it does not."""
        catalog = self.plan.catalog
        if catalog is None:
            raise CommandError(FAILED, f"{self.plan.package} has no Catalog")
        if catalog.manifest is not None:
            try:
                await self.session.client.create(catalogs.KIND, catalog.manifest)
                say(f"Catalog {catalog.name} created")
            except Conflict:
                say(f"Catalog {catalog.name} exists")
        await self._wait_for_catalog(catalog.name)
        entries = await offered_entries(self.session, self.plan.package, catalog.name)
        check_channels(entries, followed_channels(part(self.plan.operator, "spec") or {}))
        await check_version(self.session, entries, text(self.plan.operator, "spec", "version"), None)

    async def _wait_for_catalog(self, name: str) -> None:
        def message(found: Object | None) -> str | None:
            if found is None:
                raise CommandError(FAILED, f"there is no Catalog {name}")
            stalled = condition(found, "Stalled")
            if is_observed(found) and stalled is not None and text_at(stalled, "status") == "True":
                raise CommandError(FAILED, clean(f"Catalog {name}: {text_at(stalled, 'message')}"))
            if is_observed(found) and is_true(found, "Ready"):
                return None
            return text_at(condition(found, "Ready"), "message") or "is being read"

        late = f"not read within {self.seconds:g} seconds: {{}}"
        deadline = self.session.time.deadline(self.seconds)
        await follow(self.session, catalogs.KIND, name, deadline, message, late)

    def _manifest(self) -> Object:
        """The Operator, with the mark of the migration."""
        manifest = self.plan.operator or {}
        return {**manifest, "metadata": {**manifest["metadata"], "labels": {MARK: self.plan.package}}}

    async def _create_operator(self) -> None:
        await apply_operator(self.session, self._manifest(), is_forced=False)
        say(f"Operator {self.plan.name} takes them over")


def without_mark(obj: Object) -> Object | None:
    """The patch that takes the mark from a ClusterServiceVersion, also from one that was read before it had it."""
    return {"metadata": {"uid": obj["metadata"]["uid"], "labels": {MARK: None}}}


async def take(session: Session, found: Found, installation: Installation) -> None:
    """Take one object from OLM v0. One that is gone meanwhile is left out."""

    def patch(obj: Object) -> Object | None:
        return installation.detached(obj)

    await change(session, found.kind, found.obj, patch)
