"""Deletes the objects of OLM v0 of a package that has been moved, when the Operator has taken over what they owned.

    the ClusterServiceVersion is annotated: from now on nothing is given back
    InstallPlans, Subscription, copies     nothing owned by them is deleted with them
    what OLM v0 has named itself           Roles, bindings, webhook configurations that the Operator has under other names
    the OperatorGroup, the CatalogSource   if nothing else uses them
    the ClusterServiceVersion              last: as long as it is there, an interrupted deletion is found and continued

A ClusterServiceVersion is deleted when no object refers to it, and without its dependents: what refers to it in a namespace that
could not be read stays too. Never deletes a CustomResourceDefinition, a custom resource, a Namespace, a Secret, or anything that
a BundleDeployment has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from olmctl.commands import FAILED, REFUSED, TIMED_OUT, CommandError
from olmctl.migration.changes import change, delete
from olmctl.migration.controller_set import DEPLOYMENTS
from olmctl.migration.controllers import CONTROLLERS, is_noted, note_begun, note_ended
from olmctl.migration.listing import Found
from olmctl.migration.marks import (
    MARK,
    MARKS,
    OWNER,
    OWNER_KIND,
    OWNER_NAMESPACE,
    REMOVING,
    Installation,
    is_being_removed,
)
from olmctl.migration.packages import gone_version, is_later_version, migrated_operators, version_of
from olmctl.migration.read import component_list, installation_of, owned_objects
from olmctl.migration.steps import take
from olmctl.migration.v0 import (
    CATALOG_SOURCES,
    COMPONENTS,
    INSTALL_PLANS,
    OPERATOR_CONDITIONS,
    OPERATOR_GROUPS,
    SERVICE_VERSIONS,
    SUBSCRIPTIONS,
    OlmV0,
    is_copy,
)
from olmctl.migration.values import at, full_name, items, name_of, namespace_of, text, texts
from olmctl.operators.follow import wait_for_operator
from olmctl.questions.install import operator_name
from olmctl.questions.installed_objects import bundle_deployment_of
from olmctl.questions.operator_state import is_observed, is_true
from olmctl.questions.session import Session
from olmctl.terminal_output import say
from olmkit.api import operators
from olmkit.api.bundledeployments import OWNER_UID_LABEL
from olmkit.api.meta import Kind, Object, unchanged_precondition
from olmkit.errors import NotFound

POLL_SECONDS = 0.2
_RBAC, _ADMISSION = "rbac.authorization.k8s.io", "admissionregistration.k8s.io"
GENERATED = frozenset({
    (_RBAC, "Role"), (_RBAC, "RoleBinding"), (_RBAC, "ClusterRole"), (_RBAC, "ClusterRoleBinding"),
    (_ADMISSION, "ValidatingWebhookConfiguration"), (_ADMISSION, "MutatingWebhookConfiguration"),
    OPERATOR_CONDITIONS.group_kind,
})  # fmt: skip
"""Kinds of objects that OLM v0 makes under names of its own."""
_CLUSTER_ROLES = Kind(_RBAC, "v1", "ClusterRole", "clusterroles")
_OWN_GROUPS = frozenset({"global-operators", "olm-operators"})
"""OperatorGroups that OLM v0 is installed with."""


def unfinished(found: OlmV0) -> dict[str, Object]:
    """Package -> the ClusterServiceVersion of a migration that has begun, and that no Subscription has installed: its deletion
    was interrupted, or others have deleted the Subscription, or created another one, and maybe deleted the ClusterServiceVersion
    too."""
    installed = [each for each in found.subscriptions if text(each, "status", "installedCSV")]
    known = {(text(each, "spec", "name"), namespace_of(each)) for each in installed}
    migrated, originals = migrated_operators(found), list(found.originals())
    versions: dict[str, Object] = {}
    for each in originals:
        place = (text(each, "metadata", "labels", MARK), namespace_of(each))
        if place[0] and place not in known and (is_being_removed(each) or place in migrated):
            versions[place[0]] = each
    inhabited = {namespace_of(each) for each in originals}
    for place, operator in migrated.items():
        if place not in known and place[1] not in inhabited:  # one that is there may be its own, without the mark
            versions[place[0]] = gone_version(operator)
    return versions


def check_gone(package: str, listed: Sequence[Object], deleted: Sequence[Object]) -> None:
    """Raises CommandError if Subscriptions of the package are there that were not deleted: OLM v0 would install it again for
    them."""
    uids = {each["metadata"]["uid"] for each in deleted}
    for each in listed:
        if text(each, "spec", "name") == package and each["metadata"]["uid"] not in uids:
            why = f"Subscription {full_name(each)} was created again, and OLM v0 would install {package} for it"
            advice = "have what applies it, such as Argo CD or Flux, leave it out, and run the command again"
            raise CommandError(REFUSED, f"{why}: {advice}")


@dataclass(frozen=True)
class Removal:
    """The deletion of what OLM v0 has of one package. `version` is its ClusterServiceVersion."""

    session: Session
    found: OlmV0
    package: str
    version: Object
    seconds: float
    removes_sources: bool = False

    async def run(self) -> None:
        """Delete everything. Raises CommandError."""
        await CONTROLLERS.require_stopped(self.session)
        namespace = namespace_of(self.version)
        subscriptions = self._subscriptions()
        await self.require_ready(await self._require_operator(namespace))
        await note_begun(self.session, self.version, self.package)
        installation = installation_of(self.found, self.package, namespace, name_of(self.version))
        installation, objects = await owned_objects(self.session, self.found, installation)
        for owned in objects:  # nothing, unless the controllers of OLM v0 ran meanwhile
            await take(self.session, owned, installation)
        # The annotation is data of whoever may change the ClusterServiceVersion: it counts when nothing else has the name.
        recorded = text(self.version, "metadata", "annotations", MARK).partition(" ")[2]
        source = max(map(_source_of, subscriptions), default=recorded)
        await self._commit(source)
        await self._delete_install_plans()  # the garbage collector would delete them with the Subscription
        is_gone = not self.version["metadata"][
            "uid"
        ]  # then the Subscription is what an interrupted deletion is found by
        for each in () if is_gone else subscriptions:
            await delete(self.session, SUBSCRIPTIONS, each)
        for each in self.found.versions:
            if is_copy(each) and each["metadata"]["uid"] in installation.owners:
                await self._delete_version(each)
        await self._delete_generated(installation)
        await self._delete_group()
        if self.removes_sources:
            await self._delete_source(source, subscriptions)
        for each in subscriptions if is_gone else ():
            await delete(self.session, SUBSCRIPTIONS, each)
        listed, _ = await self.session.client.list(SUBSCRIPTIONS, namespace)
        check_gone(self.package, listed, subscriptions)
        await self._unmark(installation)
        await self._delete_version(self.version)
        await note_ended(self.session, self.version, self.package)
        say(f"{self.package}: nothing of OLM v0 is left")

    def _subscriptions(self) -> list[Object]:
        """The Subscriptions of the package. Raises CommandError if OLM v0 has installed another version meanwhile."""
        namespace = namespace_of(self.version)
        subscriptions = [
            each
            for each in self.found.subscriptions
            if namespace_of(each) == namespace and text(each, "spec", "name") == self.package
        ]
        for each in subscriptions:
            installed = text(each, "status", "installedCSV")
            if installed not in ("", name_of(self.version)):
                text_ = f"Subscription {full_name(each)} has {installed} installed, and not {name_of(self.version)}"
                raise CommandError(FAILED, f"{text_}: nothing of OLM v0 is deleted for it")
        return subscriptions

    async def _commit(self, source: str) -> None:
        def patch(obj: Object) -> Object | None:
            if is_being_removed(obj):
                return None
            metadata = {"labels": {MARK: self.package}, "annotations": {MARK: f"{REMOVING} {source}"}}
            return {"metadata": {**unchanged_precondition(obj), **metadata}}

        await change(self.session, SERVICE_VERSIONS, self.version, patch)

    async def _delete_install_plans(self) -> None:
        """Delete those that are about nothing that OLM v0 still has."""
        namespace = namespace_of(self.version)
        others = {name_of(each) for each in self.found.originals() if namespace_of(each) == namespace}
        others -= {name_of(self.version)}
        for each in self.found.install_plans:
            names = set(texts(each, "spec", "clusterServiceVersionNames"))
            if namespace_of(each) == namespace and name_of(self.version) in names and not names & others:
                await delete(self.session, INSTALL_PLANS, each)

    async def _delete_version(self, version: Object) -> None:
        """Delete a ClusterServiceVersion without its dependents, and without the controller that its finalizers wait for."""

        def patch(obj: Object) -> Object | None:
            finalizers = at(obj, "metadata", "finalizers") or []
            rest = [each for each in finalizers if not each.startswith("operators.coreos.com/")]
            if rest == finalizers:
                return None
            return {"metadata": {**unchanged_precondition(obj), "finalizers": rest}}

        live = await self._live(version)
        if live is None:
            return
        await change(self.session, SERVICE_VERSIONS, live, patch)
        body = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "propagationPolicy": "Orphan",
            "preconditions": {"uid": version["metadata"]["uid"]},
        }
        try:
            path = SERVICE_VERSIONS.path(namespace_of(version), name_of(version))
            await self.session.client.request("DELETE", path, body=body)
        except NotFound:
            return
        await self._until_gone(version)
        say(f"{SERVICE_VERSIONS.kind} {full_name(version)} deleted")

    async def _live(self, version: Object) -> Object | None:
        """The ClusterServiceVersion as it is; None if it is gone."""
        if not version["metadata"]["uid"]:
            return None
        try:
            found = await self.session.client.get(SERVICE_VERSIONS, name_of(version), namespace_of(version))
        except NotFound:
            return None
        return found if found["metadata"]["uid"] == version["metadata"]["uid"] else None

    async def _until_gone(self, version: Object) -> None:
        deadline = self.session.time.deadline(self.seconds)
        while live := await self._live(version):
            if asyncio.get_running_loop().time() > deadline:
                held = ", ".join(texts(live, "metadata", "finalizers"))
                text_ = f"ClusterServiceVersion {full_name(version)} is not deleted within {self.seconds:g} seconds"
                raise CommandError(TIMED_OUT, f"{text_}: it waits for the finalizers {held}")
            await asyncio.sleep(POLL_SECONDS)

    async def _delete_generated(self, installation: Installation) -> None:
        """Delete what OLM v0 has made under names of its own, and name what nobody has taken over."""
        _, objects = await owned_objects(self.session, self.found, installation)
        left: list[Found] = []
        for each in objects:
            labels = at(each.obj, "metadata", "labels") or {}
            record = MARKS.record_of(each.obj)
            if OWNER_UID_LABEL in labels or record is None:
                continue
            if each.kind.group_kind in GENERATED and (OWNER in record.labels or record.references):
                await delete(self.session, each.kind, each.obj)
            else:
                left.append(each)
        if left:
            say(f"note: not in the bundle, and left as it is: {', '.join(map(str, left))}", err=True)
        components = await component_list(self.session, installation)
        if components is not None:
            await delete(self.session, COMPONENTS, components)

    async def _delete_group(self) -> None:
        """Delete the OperatorGroup of the namespace if OLM v0 has nothing else there."""
        namespace, uid = namespace_of(self.version), self.version["metadata"]["uid"]
        versions = [each for each in self.found.versions if each["metadata"]["uid"] != uid]
        subscriptions = [each for each in self.found.subscriptions if text(each, "spec", "name") != self.package]
        if any(namespace_of(each) == namespace for each in (*versions, *subscriptions)):
            return
        for group in self.found.groups_in(namespace):
            if name_of(group) in _OWN_GROUPS:
                continue
            selector = f"{OWNER}={name_of(group)},{OWNER_KIND}=OperatorGroup,{OWNER_NAMESPACE}={namespace}"
            roles, _ = await self.session.client.list(_CLUSTER_ROLES, label_selector=selector, metadata_only=True)
            for role in roles:
                await delete(self.session, _CLUSTER_ROLES, role)
            await delete(self.session, OPERATOR_GROUPS, group)

    async def _delete_source(self, name: str, removed: list[Object]) -> None:
        """Delete the CatalogSource if only the deleted Subscriptions named it."""
        uids = {each["metadata"]["uid"] for each in removed}
        if name in {_source_of(each) for each in self.found.subscriptions if each["metadata"]["uid"] not in uids}:
            return
        for source in self.found.catalog_sources:
            if full_name(source) == name:
                await delete(self.session, CATALOG_SOURCES, source)

    async def _unmark(self, installation: Installation) -> None:
        _, objects = await owned_objects(self.session, self.found, installation)
        for each in objects:
            await change(self.session, each.kind, each.obj, MARKS.unmarked)
        operator = await self._require_operator(installation.namespace)
        await change(self.session, operators.KIND, operator, MARKS.unmarked)

    async def _require_operator(self, namespace: str) -> Object:
        """The Operator that has taken over. Raises CommandError if there is none: the mark of a ClusterServiceVersion proves
        nothing, since the users of its namespace can write it.
        """
        name = operator_name(self.package)
        try:
            operator = await self.session.client.get(operators.KIND, name)
        except NotFound:
            text_ = f"there is no Operator {name}: nothing of OLM v0 is deleted for {full_name(self.version)}"
            raise CommandError(FAILED, text_) from None
        if (installed := text(operator, "spec", "install", "namespace")) != namespace:
            where = f"is for namespace {installed}, and ClusterServiceVersion {full_name(self.version)} is not there"
            raise CommandError(FAILED, f"Operator {name} {where}: nothing of OLM v0 is deleted for it")
        return operator

    async def require_ready(self, operator: Object) -> None:
        """Wait until the Operator is Ready with the version of the ClusterServiceVersion. Raises CommandError if it is not:
        a mark that somebody else has written would skip the migration. Since it has taken over it may have been upgraded: then it
        must have the Deployments of the ClusterServiceVersion."""
        name, wanted = name_of(operator), version_of(self.version)
        is_continued = await self._has_begun(operator)
        if not (is_observed(operator) and is_true(operator, "Ready")):
            await wait_for_operator(self.session, name, self.seconds, "" if is_continued else wanted)
            operator = await self._require_operator(namespace_of(self.version))
        installed = text(operator, "status", "installed", "version")
        if not wanted or installed == wanted:
            return
        what = f"has version {installed}, and ClusterServiceVersion {full_name(self.version)} is version {wanted}"
        if is_continued and is_later_version(installed, wanted):
            left = await self._left_deployments(operator)
            if not left:
                return
            what += f", whose Deployment {left[0]} it has not taken over"
        raise CommandError(FAILED, f"Operator {name} {what}: nothing of OLM v0 is deleted for it")

    async def _has_begun(self, operator: Object) -> bool:
        """Report whether an administrator has begun the migration: the mark of the ClusterServiceVersion alone proves nothing."""
        is_marked = text(operator, "metadata", "labels", MARK) == self.package
        return is_marked or await is_noted(self.session, self.version)

    async def _left_deployments(self, operator: Object) -> list[str]:
        """The Deployments that the ClusterServiceVersion names and that are not the Operator's."""
        deployment = await bundle_deployment_of(self.session, operator)
        uid = deployment["metadata"]["uid"] if deployment is not None else ""
        left: list[str] = []
        for each in items(self.version, "spec", "install", "spec", "deployments"):
            try:
                live = await self.session.client.get(DEPLOYMENTS, text(each, "name"), namespace_of(self.version))
            except NotFound:
                continue
            if not uid or text(live, "metadata", "labels", OWNER_UID_LABEL) != uid:
                left.append(full_name(live))
        return left


def _source_of(subscription: Object) -> str:
    return f"{text(subscription, 'spec', 'sourceNamespace')}/{text(subscription, 'spec', 'source')}"
