"""Moves what OLM v1 has installed for one ClusterExtension to an Operator. What has been done is read from the cluster, so that
it continues after any write.

    1  a Catalog that the ClusterExtension selects offers the installed version
    2  every object is taken from OLM v1, one patch each
    3  the Operator that the ClusterExtension would get takes them over, with the installed version
    4  operator-controller serves the ClusterExtension, and the Operator follows it from then on: see serving.py

All of it can be given back: see undo.py. No custom resource is written or deleted, and no object is deleted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from olmctl.commands import FAILED, REFUSED, TIMED_OUT, CommandError
from olmctl.migration.changes import change
from olmctl.migration.pods import report_pods
from olmctl.migration.v1.objects import CONTROLLERS, MARK, MARKS, condition, installation_of
from olmctl.migration.v1.plan import ExtensionPlan, loaded
from olmctl.migration.v1.read import owned_objects
from olmctl.migration.values import at, name_of, text
from olmctl.operators.follow import ended_by, follow
from olmctl.operators.install import apply_operator
from olmctl.questions.catalog_offers import why_not_offered
from olmctl.questions.errors import NothingFound
from olmctl.questions.offered_versions import check_version
from olmctl.questions.operator_state import NOT_SEEN, is_observed, is_true, progress
from olmctl.questions.packages import package_objects
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmctl.terminal_output import say
from olmkit.api import catalogs, clusterextensions, operators
from olmkit.api.catalogs import Catalog
from olmkit.api.label_selector import LabelSelector
from olmkit.api.meta import Object
from olmkit.api.operators import EVERY_CHANNEL
from operator_controller.clusterextension.configuration import read_configuration
from operator_controller.clusterextension.operator_object import operator_for

POLL_SECONDS = 0.5


def translated(plan: ExtensionPlan) -> Object:
    """The Operator that operator-controller would make of the ClusterExtension. Raises CommandError."""
    extension = loaded(plan.extension)
    configuration = read_configuration(extension.spec.config.inline if extension.spec.config else None)
    if configuration.problem:
        raise CommandError(REFUSED, f"ClusterExtension {plan.name}: spec.config: {clean(configuration.problem)}")
    try:
        return operator_for(extension, configuration)
    except ValueError as error:
        raise CommandError(REFUSED, f"ClusterExtension {plan.name}: {clean(str(error))}") from error


def pinned(operator: Object, plan: ExtensionPlan) -> Object:
    """The Operator that takes over: the installed version whatever channel has it, and the marks of the migration. The
    translation takes the version and the channels back."""
    metadata, spec = operator["metadata"], operator["spec"]
    certificates = {"certificates": "CertManager"} if plan.has_certificates else {}
    return {
        **operator,
        "metadata": {
            **metadata,
            "labels": {**metadata.get("labels", {}), MARK: installation_of(plan.extension).label},
            "annotations": {**metadata.get("annotations", {}), MARK: f"{plan.bundle} {plan.version}"},
        },
        "spec": {
            **spec,
            "version": plan.version,
            "channels": [EVERY_CHANNEL],
            "install": {**spec["install"], "adoptionPolicy": "IfUnowned", **certificates},
        },
    }


@dataclass(frozen=True)
class Move:
    """The migration of what is installed for one ClusterExtension."""

    session: Session
    plan: ExtensionPlan
    seconds: float

    async def check(self) -> None:
        """Wait until the installed version is offered, and have the API server check the Operator. Raises CommandError with what
        is in the way; nothing is changed."""
        if self.plan.is_moved:
            return
        operator = pinned(translated(self.plan), self.plan)
        await self._until_offered(LabelSelector.load(operator["spec"]["catalogSelector"]))
        await apply_operator(self.session, operator, is_forced=True, is_dry_run=True)

    async def _until_offered(self, selector: LabelSelector) -> None:
        deadline = self.session.time.deadline(self.seconds)
        while True:
            listed, _ = await self.session.client.list(catalogs.KIND)
            selected = [each for each in listed if selector.matches(at(each, "metadata", "labels") or {})]
            if not (problem := await self._not_offered(selected)):
                return
            is_settled = bool(selected) and all(map(_is_settled, selected))
            if is_settled or asyncio.get_running_loop().time() > deadline:
                what = f"ClusterExtension {self.plan.name}: version {self.plan.version} is installed"
                status = FAILED if is_settled else TIMED_OUT
                raise CommandError(status, clean(f"{what}, and no Catalog offers it: {problem}"))
            await asyncio.sleep(POLL_SECONDS)

    async def _not_offered(self, selected: Sequence[Object]) -> str:
        """The reason why no selected Catalog offers the installed version; "" if one does."""
        names = set(map(name_of, selected))
        found = [each for each in await package_objects(self.session, self.plan.package) if each.catalog in names]
        if not found:
            return why_not_offered([Catalog.load(each) for each in selected], self.plan.package)
        try:
            await check_version(self.session, found, self.plan.version, None)
        except NothingFound as error:
            return str(error)
        return ""

    async def run(self) -> None:
        """Take the objects, and have the Operator take them over. Raises CommandError with what is in the way."""
        await CONTROLLERS.require_stopped(self.session)
        installation = installation_of(self.plan.extension)
        objects = (await owned_objects(self.session, [installation]))[self.plan.name]
        say(f"{self.plan.name}: {len(objects)} objects are taken from OLM v1")
        for each in objects:
            await change(self.session, each.kind, each.obj, installation.detached)
        if not self.plan.is_moved:
            await apply_operator(self.session, pinned(translated(self.plan), self.plan), is_forced=True)
            say(f"Operator {self.plan.operator} takes them over")
        await self._until_installed()
        await report_pods(self.session, MARKS, objects)

    async def _until_installed(self) -> None:
        """Wait until the Operator has what was installed; it may be as unhealthy as before."""
        name, last = self.plan.operator, ""

        def message(found: Object | None) -> str | None:
            nonlocal last
            if found is None:
                raise CommandError(FAILED, f"Operator {name} was deleted")
            if not is_observed(found):
                return NOT_SEEN
            state = progress(found, self.plan.version)
            installed = text(found, "status", "installed", "name")
            if installed:
                if installed != self.plan.bundle and not self.plan.is_moved:
                    what = f"Operator {name} has installed {installed}, and OLM v1 has {self.plan.bundle}"
                    raise CommandError(FAILED, clean(f"{what}: --undo gives it back"))
                last = "" if is_true(found, "Ready") else state.message
                return None
            if state.needs_a_person:
                raise ended_by(f"Operator {name}", state)
            return state.message

        late = f"not within {self.seconds:g} seconds: {{}} (olm why {name})"
        await follow(self.session, operators.KIND, name, self.session.time.deadline(self.seconds), message, late)
        if last:
            say(f"warning: Operator {name} is not Ready: {clean(last)}", err=True)

    async def until_served(self) -> None:
        """Wait until operator-controller of the suite reports what is installed for the ClusterExtension."""

        def message(found: Object | None) -> str | None:
            if found is None or at(found, "metadata", "deletionTimestamp"):
                return None
            is_own = clusterextensions.FINALIZER in (at(found, "metadata", "finalizers") or ())
            # Available is reported by the suite alone, unless OLM v1 has its experimental API.
            if is_own and condition(found, "Available") and text(condition(found, "Installed"), "status") == "True":
                return None
            return text(condition(found, "Progressing"), "message") or "waiting for operator-controller"

        late = f"not served within {self.seconds:g} seconds: {{}}"
        deadline = self.session.time.deadline(self.seconds)
        await follow(self.session, clusterextensions.KIND, self.plan.name, deadline, message, late)


def _is_settled(catalog: Object) -> bool:
    """Report whether waiting does not help: it is read, or cannot be."""
    return is_observed(catalog) and (is_true(catalog, "Ready") or is_true(catalog, "Stalled"))
