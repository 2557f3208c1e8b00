"""Ends a migration: deletes what OLM v1 has besides its kinds, when the suite has taken over what it has installed.

    its Deployments are annotated: from now on nothing is given back
    marks of the migration, and its finalizers
    the Secrets of its releases
    what its controllers need              webhooks and Services, their Deployments, and at last Roles and bindings

Never deletes a CustomResourceDefinition, a Namespace, a ClusterCatalog, a ClusterExtension, or anything that was installed. What
nobody has taken over is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from olmctl.commands import FAILED, REFUSED, CommandError
from olmctl.migration.changes import change, delete
from olmctl.migration.controller_set import DEPLOYMENTS, replicas_before
from olmctl.migration.listing import Found, discovered, listed, stored_kinds
from olmctl.migration.marks import REMOVING
from olmctl.migration.v1.objects import CONTROLLERS, MARK, MARKS, OlmV1, installation_of, is_owned_by
from olmctl.migration.v1.plan import ExtensionPlan, MigrationPlan
from olmctl.migration.v1.read import owned_objects
from olmctl.migration.v1.serving import UPSTREAM
from olmctl.migration.values import at, name_of, namespace_of, text
from olmctl.questions.session import Session
from olmctl.suite.manifests import NAME_LABEL, PART_OF_LABEL
from olmctl.terminal import clean
from olmctl.terminal_output import say
from olmkit.api import clusterextensions, customresourcedefinitions, operators
from olmkit.api.bundledeployments import OWNER_UID_LABEL
from olmkit.api.clusterextensions import UPSTREAM_FINALIZERS
from olmkit.api.meta import Object, unchanged_precondition
from olmkit.api.operators import MIGRATIONS_ANNOTATION
from olmkit.runtime.source_secrets import SECRETS

_RBAC = "rbac.authorization.k8s.io"
COMMAND = "olm migrate v1 --all"
_OWN_SELECTOR = f"{PART_OF_LABEL}={UPSTREAM},{NAME_LABEL} in (catalogd,operator-controller)"
"""Selects what OLM v1 consists of."""
_KEPT = frozenset({customresourcedefinitions.KIND.group_kind, ("", "Namespace"), DEPLOYMENTS.group_kind})


def is_removing(found: OlmV1) -> bool:
    """Report whether what OLM v1 consists of is being deleted."""
    return any(
        replicas_before(each) and text(each, "metadata", "annotations", MIGRATIONS_ANNOTATION) == REMOVING
        for each in found.controllers
    )


def require_not_removing(found: OlmV1) -> None:
    """Raises CommandError if nothing can be given back any more."""
    if is_removing(found):
        text_ = "what OLM v1 consists of is being deleted: nothing can be given back to it"
        raise CommandError(REFUSED, f"{text_}; `{COMMAND}` continues")


@dataclass(frozen=True)
class Removal:
    """The end of a migration."""

    session: Session
    found: OlmV1
    plan: MigrationPlan

    async def run(self) -> None:
        """Delete everything. Raises CommandError."""
        await CONTROLLERS.require_stopped(self.session)
        for each in self.plan.extensions:
            self._require_moved(each)
        await CONTROLLERS.repeated(self._commit)
        for each in self.plan.extensions:
            await self._release(each)
        for secret in self._secrets():
            await delete(self.session, SECRETS, secret)
        parts = await self._parts()
        for found in (each for each in parts if each.kind.group != _RBAC):
            await delete(self.session, found.kind, found.obj)
        for deployment in self.found.controllers:  # a controller is known by its permissions
            await delete(self.session, DEPLOYMENTS, deployment)
        for found in (each for each in parts if each.kind.group == _RBAC):
            await delete(self.session, found.kind, found.obj)
        if self.found.namespaces:
            names = ", ".join(sorted(self.found.namespaces))
            say(f"note: left as it is: namespace {names}, and what is in it besides", err=True)

    def _require_moved(self, plan: ExtensionPlan) -> None:
        if plan.is_installed and not plan.is_moved and not at(plan.extension, "metadata", "deletionTimestamp"):
            raise CommandError(FAILED, f"ClusterExtension {plan.name} is not taken over: nothing of OLM v1 is deleted")

    async def _commit(self) -> None:
        for each in await CONTROLLERS.found(self.session):
            if text(each, "metadata", "annotations", MIGRATIONS_ANNOTATION) != REMOVING:
                metadata = {**unchanged_precondition(each), "annotations": {MIGRATIONS_ANNOTATION: REMOVING}}
                await self.session.client.patch(DEPLOYMENTS, name_of(each), {"metadata": metadata}, namespace_of(each))

    async def _release(self, plan: ExtensionPlan) -> None:
        """Forget what was taken for a ClusterExtension, and remove the finalizers of OLM v1 from it."""
        objects = (await owned_objects(self.session, [installation_of(plan.extension)]))[plan.name]
        left = [each for each in objects if _is_left(each)]
        for each in objects:
            await change(self.session, each.kind, each.obj, MARKS.unmarked)
        if left:
            say(f"note: not in the bundle, and left as it is: {clean(', '.join(map(str, left)))}", err=True)
        operator = self.found.operator(plan.operator)
        if operator is not None and is_owned_by(operator, plan.extension):
            await change(self.session, operators.KIND, operator, _unmarked_operator)
        await change(self.session, clusterextensions.KIND, plan.extension, _without_finalizers)

    def _secrets(self) -> Iterator[Object]:
        """The Secrets of releases, the first one of each last: an interrupted deletion finds the others by it."""
        for extension in self.found.extensions:
            for release in self.found.releases_of(extension):
                yield from self.found.parts_of(release)
                yield release

    async def _parts(self) -> Sequence[Found]:
        """The objects that OLM v1 consists of, without the Deployments of its controllers."""
        lists = [
            (kind, namespace, _OWN_SELECTOR)
            for kind in stored_kinds(await discovered(self.session))
            if kind.group_kind not in _KEPT
            for namespace in (sorted(self.found.namespaces) if kind.namespaced else ("",))
        ]
        return await listed(self.session, lists, lambda _: True)


def _is_left(found: Found) -> bool:
    """Report whether the object was taken from OLM v1, and no BundleDeployment has it."""
    labels = at(found.obj, "metadata", "labels") or {}
    return MARK in labels and OWNER_UID_LABEL not in labels


def _unmarked_operator(operator: Object) -> Object | None:
    """The patch that makes the Operator one as its ClusterExtension gets it: it takes nothing over any more."""
    patch = MARKS.unmarked(operator)
    return None if patch is None else {**patch, "spec": {"install": {"adoptionPolicy": None}}}


def _without_finalizers(extension: Object) -> Object | None:
    finalizers = at(extension, "metadata", "finalizers") or []
    rest = [each for each in finalizers if each not in UPSTREAM_FINALIZERS]
    return {"metadata": {**unchanged_precondition(extension), "finalizers": rest}} if rest != finalizers else None
