"""Reads the schema of a kind that a version of a package provides, which the cluster need not serve. Never writes.

It is in the summary of the bundle, without descriptions. These are those of the cluster's definition, if it serves the kind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from console.pages.kind_reader import schema_of
from console.views.description import ProvidedKind
from console.views.kind_schema import KindSchema, kind_schema
from olmctl.questions.bundle_summaries import bundle_summary, bundles_of, stated_note
from olmctl.questions.errors import QuestionError
from olmctl.questions.operator_state import part, text_at
from olmctl.questions.packages import PackageEntry
from olmctl.questions.session import Session
from olmkit.api.meta import Object
from olmkit.errors import ApiError, OlmError
from olmkit.fbc.bundle_summary import SCHEMAS

SECONDS: Final = 3.0
"""The time that a page waits for catalogd to read a bundle."""
PENDING: Final = "catalogd reads the bundle for it. It is shown here in a moment."
_CLUSTER: Final = "This is the definition of the cluster, which may be of another version."


async def read_kind_schema(session: Session, entry: PackageEntry, version: str, kind: ProvidedKind) -> KindSchema:
    """The fields of a kind in a version of a package; without its summary those that the cluster knows."""
    texts, found = await asyncio.gather(_of_cluster(session, kind), _of_summary(session, entry, version, kind))
    schema, words = found
    if schema is not None:
        return await asyncio.to_thread(kind_schema, schema, texts, words)
    if texts:
        return await asyncio.to_thread(kind_schema, texts, None, f"{_CLUSTER} {words}")
    return KindSchema(problem=words)


async def _of_cluster(session: Session, kind: ProvidedKind) -> Mapping[str, Any]:
    """The schema of the cluster's definition; {} if it serves no such kind, or it may not be read."""
    try:
        discovery = await session.client.discover()
        found = discovery.served.get((kind.group, kind.version, kind.kind))
        return await schema_of(session, found) if found is not None else {}
    except ApiError:
        return {}


async def _of_summary(
    session: Session, entry: PackageEntry, version: str, kind: ProvidedKind
) -> tuple[Mapping[str, Any] | None, str]:
    """The schema in the summary of the bundle, and a sentence about it; or None, and why it is not known."""
    try:
        async with asyncio.timeout(SECONDS):
            bundles = await bundles_of(session, entry.name, entry.catalog)
            bundle = next((each for each in bundles if (each.catalog, each.version) == (entry.catalog, version)), None)
            if bundle is None:
                return None, f"Its fields are not known: {entry.catalog} has no bundle of version {version}."
            summary = await bundle_summary(session, bundle)
    except TimeoutError:
        return None, PENDING
    except (ApiError, OlmError, QuestionError) as error:
        return None, f"Its fields are not known: {error}"
    for definition in summary.definitions().values():
        if (
            text_at(definition, "spec", "group") == kind.group
            and text_at(definition, "spec", "names", "kind") == kind.kind
        ):
            if SCHEMAS in summary.left_out:
                return None, "Its fields are too many for the summary that catalogd keeps."
            return _schema(dict(definition), kind.version), stated_note(bundle.name, summary)
    return None, f"{version} has no CustomResourceDefinition of this kind."


def _schema(definition: Object, version: str) -> Mapping[str, Any]:
    """The schema of a version, or of the first one if there is no such version."""
    versions = [each for each in part(definition, "spec", "versions") or () if isinstance(each, dict)]
    named = [each for each in versions if text_at(each, "name") == version] or versions[:1]
    found = part(named[0], "schema", "openAPIV3Schema") if named else None
    return found if isinstance(found, dict) else {}
