"""Reads what OLM v0 has on a cluster, and the objects of one of its ClusterServiceVersions. Changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace

from olmctl.commands import NOT_FOUND, CommandError
from olmctl.migration.listing import Found, discovered, listed, stored_kinds
from olmctl.migration.marks import MARK, OWNER, Installation
from olmctl.migration.v0 import (
    CATALOG_SOURCES,
    COMPONENTS,
    GROUP,
    INSTALL_PLANS,
    OPERATOR_CONDITIONS,
    OPERATOR_GROUPS,
    SERVICE_VERSIONS,
    SUBSCRIPTIONS,
    OlmV0,
    component_label,
    is_copy,
)
from olmctl.migration.values import items, name_of, namespace_of, text
from olmctl.questions.session import Session
from olmkit.api import catalogs, customresourcedefinitions, operators
from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError, Forbidden, NotFound
from olmkit.runtime.discovery import Discovery

_ROLES = (("rbac.authorization.k8s.io", "Role"), ("rbac.authorization.k8s.io", "RoleBinding"))
"""Kinds of which OLM v0 writes objects into the namespaces that an operator watches, and into kube-system."""


async def read_olm_v0(session: Session) -> OlmV0:
    """Everything that OLM v0 has. Raises CommandError if its kinds are not served."""
    kinds = (SUBSCRIPTIONS, SERVICE_VERSIONS, CATALOG_SOURCES, OPERATOR_GROUPS, INSTALL_PLANS)
    try:
        found = await asyncio.gather(*(session.client.list(kind) for kind in kinds))
    except ApiError as error:
        if isinstance(error, Forbidden) and await _is_served(session):
            raise
        if not isinstance(error, Forbidden | NotFound):
            raise
        text_ = f"the cluster does not serve the kinds of OLM v0 ({GROUP}): there is nothing to migrate"
        raise CommandError(NOT_FOUND, text_) from error
    own = await asyncio.gather(*(session.client.list(kind) for kind in (catalogs.KIND, operators.KIND)))
    subscriptions, versions, sources, groups, plans = (objects for objects, _ in found)
    return OlmV0(subscriptions, versions, sources, groups, plans, *(objects for objects, _ in own))


async def _is_served(session: Session) -> bool:
    """Report whether the cluster has the kinds of OLM v0: a kind that does not exist is forbidden too, to most users."""
    return SUBSCRIPTIONS.group_kind in (await session.client.discover()).kinds


def installation_of(found: OlmV0, package: str, namespace: str, version: str) -> Installation:
    """The identity of the objects of an installed ClusterServiceVersion, which may be gone."""
    original = found.version(namespace, version)
    copies = [
        each for each in found.versions if is_copy(each) and name_of(each) == version and _is_copy_of(each, namespace)
    ]
    uids = {each["metadata"]["uid"] for each in [*([original] if original else ()), *copies]}
    copied_to = frozenset(map(namespace_of, copies))
    return Installation(package, namespace, version, component_label(package, namespace), frozenset(uids), copied_to)


def _is_copy_of(copy: Object, namespace: str) -> bool:
    return text(copy, "metadata", "labels", "olm.copiedFrom") in ("", namespace)


async def owned_objects(session: Session, found: OlmV0, installation: Installation) -> tuple[Installation, list[Found]]:
    """The objects of an installation, also those that have been taken from it already; and the installation with the uid of its
    OperatorCondition. Raises CommandError if a kind cannot be listed: what is not seen could be deleted."""
    discovery = await discovered(session)
    condition = await _condition(session, installation)
    if condition is not None:
        uid = condition["metadata"]["uid"]
        installation = replace(installation, owners=installation.owners | {uid})
    objects = await _listed(session, discovery, installation)
    definitions = _definitions(found, installation)
    known = {each.key for each in objects}
    for name in definitions:
        obj = await _definition(session, name)
        if obj is not None and (each := Found(customresourcedefinitions.KIND, obj)).key not in known:
            objects.append(each)
    return installation, sorted(objects, key=lambda each: each.key)


async def _condition(session: Session, installation: Installation) -> Object | None:
    if not installation.version:
        return None
    try:
        return await session.client.get(OPERATOR_CONDITIONS, installation.version, installation.namespace)
    except NotFound:
        return None


def _definitions(found: OlmV0, installation: Installation) -> list[str]:
    """The names of the CustomResourceDefinitions that the ClusterServiceVersion owns."""
    version = found.version(installation.namespace, installation.version)
    return [text(each, "name") for each in items(version, "spec", "customresourcedefinitions", "owned")]


async def _definition(session: Session, name: str) -> Object | None:
    try:
        obj = await session.client.get(customresourcedefinitions.KIND, name)
    except NotFound:
        return None
    return obj


async def _listed(session: Session, discovery: Discovery, installation: Installation) -> list[Found]:
    """Each object of the installation once."""

    def is_wanted(obj: Object) -> bool:
        return installation.owns(obj) or text(obj, "metadata", "labels", MARK) == installation.package

    lists = [
        (kind, namespace, selector) for kind in _kinds(discovery) for namespace, selector in _lists(kind, installation)
    ]
    return await listed(session, lists, is_wanted)


def _kinds(discovery: Discovery) -> Iterator[Kind]:
    """The kinds whose objects OLM v0 may own."""
    for kind in stored_kinds(discovery):
        is_v0 = kind.group == GROUP and kind.group_kind != OPERATOR_CONDITIONS.group_kind
        if not (is_v0 or kind in (catalogs.KIND, operators.KIND)):
            yield kind


def _lists(kind: Kind, installation: Installation) -> Iterator[tuple[str, str]]:
    """The lists in which the objects of a kind are found: namespace and label selector."""
    if kind.namespaced:
        yield installation.namespace, ""
    else:
        yield "", installation.component
    if not kind.namespaced or kind.group_kind in _ROLES:
        yield "", f"{MARK}={installation.package}"
        yield "", f"{OWNER}={installation.version}"


async def component_list(session: Session, installation: Installation) -> Object | None:
    """The list of its components that olm-operator keeps; None if there is none."""
    name = installation.component.partition("/")[2]
    try:
        return await session.client.get(COMPONENTS, name)
    except NotFound:
        return None
