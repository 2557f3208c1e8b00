"""The names that shells complete: Operators, ClusterExtensions, packages, channels and versions, read from the cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any

from olmctl.operators.session import client_of
from olmctl.questions.extensions import operator_of
from olmctl.questions.session import Session
from olmkit.api import clusterextensions, operators, packages
from olmkit.api.meta import Object
from olmkit.api.names import is_label_value
from olmkit.api.package_annotations import VERSIONS_ANNOTATION
from olmkit.errors import ApiError
from olmkit.runtime.client import Client

TIMEOUT_SECONDS = 3.0
"""The time for which a shell waits for names."""
_OPTIONS = ("kubeconfig", "context", "impersonate")

Query = Callable[[Client, dict[str, Any]], Awaitable[Iterable[str]]]


def names(query: str, given: dict[str, Any]) -> list[str]:
    """The names that a query of QUERIES finds with the options of a command. Raises ApiError, OlmError, OSError, TimeoutError."""
    return asyncio.run(_names(QUERIES[query], given))


async def _names(query: Query, given: dict[str, Any]) -> list[str]:
    async with asyncio.timeout(TIMEOUT_SECONDS), client_of({key: given.get(key) for key in _OPTIONS}) as client:
        return list(await query(client, given))


async def _operators(client: Client, given: dict[str, Any]) -> Iterable[str]:
    """The names of Operators, and those of ClusterExtensions, which commands take as well: none if the cluster does not serve
    them, or if the user may not read them."""
    found, _ = await client.list(operators.KIND, metadata_only=True)
    with suppress(ApiError):
        found += (await client.list(clusterextensions.KIND, metadata_only=True))[0]
    return [each["metadata"]["name"] for each in found]


async def _packages(client: Client, given: dict[str, Any]) -> Iterable[str]:
    found, _ = await client.list(packages.KIND, metadata_only=True)
    return [name for each in found if (name := (each["metadata"].get("labels") or {}).get(packages.PACKAGE_LABEL))]


async def _operators_and_packages(client: Client, given: dict[str, Any]) -> Iterable[str]:
    return [*await _operators(client, given), *await _packages(client, given)]


async def _channels(client: Client, given: dict[str, Any]) -> Iterable[str]:
    found = await _objects_of(client, given)
    return [channel["name"] for each in found for channel in each["spec"].get("channels") or ()]


async def _versions(client: Client, given: dict[str, Any]) -> Iterable[str]:
    found = await _objects_of(client, given)
    listed = [(each["metadata"].get("annotations") or {}).get(VERSIONS_ANNOTATION, "") for each in found]
    return [version for text in listed for version in text.partition(" ")[0].split(",")]


async def _objects_of(client: Client, given: dict[str, Any]) -> list[Object]:
    """The Package objects of the package that was given, or of that of the Operator or the ClusterExtension that was given."""
    name = given.get("package") or given.get("name_or_package") or ""
    if operator := given.get("operator"):
        name = (await operator_of(Session(client, ""), operator))["spec"]["packageName"]
    if not is_label_value(str(name)):
        return []
    found, _ = await client.list(packages.KIND, label_selector=f"{packages.PACKAGE_LABEL}={name}")
    return found


QUERIES: dict[str, Query] = {
    "operators": _operators,
    "packages": _packages,
    "operators_and_packages": _operators_and_packages,
    "channels": _channels,
    "versions": _versions,
}
"""The names that can be completed; the types of olmctl.cli.completion name these."""
