"""The controllers of OLM v0: they have to be stopped while a package is migrated.

While they run, they install again what is taken from a ClusterServiceVersion, and delete what one that is gone had; with a
conversion webhook they reset the CustomResourceDefinition. A stopped one has its number of replicas in an annotation.
"""

from __future__ import annotations

import asyncio

import click

from olmctl.commands import REFUSED, TIMED_OUT, CommandError
from olmctl.migration.marks import MARK
from olmctl.migration.v0 import (
    SERVICE_VERSIONS,
    SUBSCRIPTIONS,
    at,
    full_name,
    is_copy,
    items,
    name_of,
    namespace_of,
    text,
)
from olmctl.questions.install import operator_name
from olmctl.questions.session import Session
from olmkit.api import operators
from olmkit.api.meta import Kind, Object, unchanged_precondition
from olmkit.api.operators import REPLICAS_ANNOTATION

DEPLOYMENTS = Kind("apps", "v1", "Deployment", "deployments", namespaced=True)
NAMES = ("olm-operator", "catalog-operator")
CLUSTER_ROLE = "system:controller:operator-lifecycle-manager"
"""The ClusterRole of OLM v0's controllers. It permits everything: only who may do everything can bind it."""
_CLUSTER_ROLE_BINDINGS = Kind("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings")
POLL_SECONDS = 0.5


async def controllers(session: Session) -> list[Object]:
    """The Deployments of OLM v0's controllers."""
    own, _ = await _named_like_controllers(session)
    return own


async def _named_like_controllers(session: Session) -> tuple[list[Object], list[Object]]:
    """The Deployments of OLM v0's controllers, and others of their names. Name and label are data of whoever may create a
    Deployment: OLM v0's are in the namespace of a service account that a ClusterRoleBinding gives the rights of OLM v0."""
    listed, _ = await session.client.list(DEPLOYMENTS, label_selector=f"app in ({','.join(NAMES)})")
    found = [each for each in listed if name_of(each) in NAMES]
    if not found:
        return [], []
    bindings, _ = await session.client.list(_CLUSTER_ROLE_BINDINGS)
    namespaces = {
        text(subject, "namespace")
        for each in bindings
        if (text(each, "roleRef", "kind"), text(each, "roleRef", "name")) == ("ClusterRole", CLUSTER_ROLE)
        for subject in items(each, "subjects")
        if text(subject, "kind") == "ServiceAccount"
    }
    own = [each for each in found if namespace_of(each) in namespaces]
    return own, [each for each in found if namespace_of(each) not in namespaces]


def is_running(deployment: Object) -> bool:
    """Report whether the Deployment has pods, or is to have some."""
    replicas = at(deployment, "spec", "replicas")
    return replicas != 0 or bool(at(deployment, "status", "replicas"))


async def require_stopped(session: Session) -> None:
    """Raises CommandError if one of them runs."""
    found, others = await _named_like_controllers(session)
    running = sorted(full_name(each) for each in found if is_running(each))
    if not found:
        names = " and ".join(NAMES)
        click.echo(
            f"note: no Deployments {names} are found: the controllers of OLM v0 must not run meanwhile", err=True
        )
    if others:
        names = ", ".join(sorted(map(full_name, others)))
        why = f"no ClusterRoleBinding of ClusterRole {CLUSTER_ROLE} names a service account of the namespace"
        click.echo(f"note: not of OLM v0, and left as it is: Deployment {names}: {why}", err=True)
    if running:
        why = "they would install again, or delete, what is taken from OLM v0"
        text_ = f"the controllers of OLM v0 run ({', '.join(running)}): {why}"
        raise CommandError(REFUSED, f"{text_}; --stop-controllers stops them for the time of the migration")


async def stop(session: Session, seconds: float) -> None:
    """Scale them to 0, and wait until no pod of them is left. Raises CommandError with TIMED_OUT."""
    deadline = session.time.deadline(seconds)
    for each in await controllers(session):
        replicas = at(each, "spec", "replicas")
        if replicas != 0:
            metadata = {**unchanged_precondition(each), "annotations": {REPLICAS_ANNOTATION: str(replicas or 1)}}
            change = {"metadata": metadata, "spec": {"replicas": 0}}
            await session.client.patch(DEPLOYMENTS, name_of(each), change, namespace_of(each))
            click.echo(f"Deployment {full_name(each)} is stopped")
    while running := [each for each in await controllers(session) if is_running(each)]:
        if asyncio.get_running_loop().time() > deadline:
            names = ", ".join(map(full_name, running))
            raise CommandError(TIMED_OUT, f"not stopped within {seconds:g} seconds: {names}")
        await asyncio.sleep(POLL_SECONDS)


async def start(session: Session) -> None:
    """Start those that a migration has stopped, unless a package is between OLM v0 and the suite."""
    stopped = [each for each in await controllers(session) if _replicas_before(each)]
    if not stopped:
        return
    held = await packages_between(session)
    if held:
        names = ", ".join(held)
        click.echo(f"The controllers of OLM v0 stay stopped: {names}; --undo gives a package back", err=True)
        return
    for each in stopped:
        change = {
            "metadata": {**unchanged_precondition(each), "annotations": {REPLICAS_ANNOTATION: None}},
            "spec": {"replicas": _replicas_before(each)},
        }
        await session.client.patch(DEPLOYMENTS, name_of(each), change, namespace_of(each))
        click.echo(f"Deployment {full_name(each)} is started again")


def _replicas_before(deployment: Object) -> int:
    written = text(deployment, "metadata", "annotations", REPLICAS_ANNOTATION)
    return int(written) if written.isdecimal() and len(written) < 4 else 0


async def packages_between(session: Session) -> list[str]:
    """The packages whose migration has begun and not ended, each with its ClusterServiceVersion, which is marked. The label is
    data of whoever may change one: it counts when a Subscription or an Operator of its namespace is of the package."""
    marked, _ = await session.client.list(SERVICE_VERSIONS, label_selector=MARK, metadata_only=True)
    if not marked:
        return []
    subscriptions, _ = await session.client.list(SUBSCRIPTIONS)
    installed = {
        (namespace_of(each), text(each, "spec", "name"), text(each, "status", "installedCSV")) for each in subscriptions
    }
    listed, _ = await session.client.list(operators.KIND)
    taken_over = {(text(each, "spec", "install", "namespace"), name_of(each)) for each in listed}
    between: set[str] = set()
    for each in marked:
        package, namespace = text(each, "metadata", "labels", MARK), namespace_of(each)
        is_begun = (namespace, package, name_of(each)) in installed or (namespace, operator_name(package)) in taken_over
        if is_begun and not is_copy(each):
            between.add(f"{package} is not finished (ClusterServiceVersion {full_name(each)})")
    return sorted(between)
