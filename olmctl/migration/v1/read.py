"""Reads what OLM v1 has on a cluster, and the objects that it has installed. Changes nothing.

Of Secrets only the metadata is read: those of releases contain everything that was installed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from olmctl.commands import NOT_FOUND, CommandError
from olmctl.migration.listing import Found, discovered, listed, stored_kinds
from olmctl.migration.v1.objects import (
    CONTROLLERS,
    GROUP,
    MARK,
    OBJECT_SETS,
    RELEASE_SELECTOR,
    Installation,
    OlmV1,
    installation_of,
)
from olmctl.questions.session import Session
from olmkit.api import bundledeployments, catalogs, clustercatalogs, clusterextensions, operators
from olmkit.api.clusterextensions import OWNER_KIND_LABEL
from olmkit.api.meta import Kind, Object
from olmkit.errors import NotFound
from olmkit.runtime.discovery import Discovery
from olmkit.runtime.source_secrets import SECRETS

_OWN_GROUPS = frozenset({GROUP, catalogs.KIND.group, bundledeployments.KIND.group, operators.KIND.group})


async def read_olm_v1(session: Session) -> OlmV1:
    """Everything that OLM v1 has. Raises CommandError if its kinds are not served."""
    discovery = await discovered(session)
    if clusterextensions.KIND.group_kind not in discovery.kinds:
        text = f"the cluster does not serve the kinds of OLM v1 ({GROUP}): there is nothing to migrate"
        raise CommandError(NOT_FOUND, text)
    kinds = (clustercatalogs.KIND, clusterextensions.KIND, catalogs.KIND, operators.KIND)
    found = await asyncio.gather(*(session.client.list(kind) for kind in kinds))
    v1_catalogs, extensions, own_catalogs, own_operators = (objects for objects, _ in found)
    releases, _ = await session.client.list(SECRETS, label_selector=RELEASE_SELECTOR, metadata_only=True)
    installations = {each["metadata"]["name"]: installation_of(each) for each in extensions}
    return OlmV1(
        v1_catalogs,
        extensions,
        await _object_sets(session, discovery),
        releases,
        await CONTROLLERS.found(session),
        own_catalogs,
        own_operators,
        await owned_objects(session, list(installations.values()), discovery),
        await session.system_namespace(),
    )


async def _object_sets(session: Session, discovery: Discovery) -> list[Object]:
    if OBJECT_SETS.group_kind not in discovery.kinds:
        return []
    try:
        found, _ = await session.client.list(discovery.kinds[OBJECT_SETS.group_kind], metadata_only=True)
    except NotFound:
        return []
    return found


async def owned_objects(
    session: Session, installations: Sequence[Installation], discovery: Discovery | None = None
) -> dict[str, list[Found]]:
    """Name of each ClusterExtension -> its objects, also those that have been taken already. Raises CommandError if a kind
    cannot be listed: what is not seen could be deleted."""
    discovery = discovery or await discovered(session)
    lists = [
        (kind, namespace, selector)
        for kind in stored_kinds(discovery)
        if kind.group not in _OWN_GROUPS
        for namespace, selector in _lists(kind, installations)
    ]
    found = await listed(session, lists, lambda obj: any(each.owns(obj) for each in installations))
    return {one.name: [each for each in found if one.owns(each.obj)] for one in installations}


def _lists(kind: Kind, installations: Sequence[Installation]) -> Iterator[tuple[str, str]]:
    """The lists in which the objects of a kind are found: namespace and label selector. Somebody may have removed the labels."""
    if not kind.namespaced:
        yield "", ""
        return
    yield "", f"{OWNER_KIND_LABEL}={clusterextensions.KIND.kind}"
    yield "", MARK
    for namespace in sorted({each.namespace for each in installations} - {""}):
        yield namespace, ""
