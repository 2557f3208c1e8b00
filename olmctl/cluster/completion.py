"""The names that shells complete: Operators, packages, channels and versions, read from the cluster.

Called by click's completion through the types of arguments and options. Whatever goes wrong, nothing is completed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import click
from click.shell_completion import CompletionItem

from olmctl.cluster.session import client_of
from olmctl.commands import ObjectName
from olmctl.terminal import clean
from olmkit.api import operators, packages
from olmkit.api.meta import Object
from olmkit.api.names import is_label_value
from olmkit.api.package_annotations import VERSIONS_ANNOTATION
from olmkit.errors import ApiError, OlmError
from olmkit.runtime.client import Client

TIMEOUT_SECONDS = 3.0
"""How long a shell waits for names."""
_OPTIONS = ("kubeconfig", "context", "impersonate")

Query = Callable[[Client, dict[str, Any]], Awaitable[Iterable[str]]]


class CompletingCommand(click.Command):
    """A command whose options are completed by what was given before: click drops that while the last option lacks its value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words; for completion, without a last option that lacks its value."""
        is_cut = ctx.resilient_parsing and bool(args) and args[-1].startswith("--")
        return super().parse_args(ctx, args[:-1] if is_cut else args)


class SomeText(click.ParamType[str]):
    """A text that is not empty."""

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text as it is. Raises BadParameter."""
        if not value:
            self.fail("it is empty", param, ctx)
        return value


class ClusterName(click.ParamType[str]):
    """A name that is completed by a query of the cluster. The value is the text as given."""

    def __init__(self, name: str, query: Query, checked_as: click.ParamType[str] | None = None) -> None:
        """`query` gets the values of the arguments and options that were given so far; `checked_as` is the type of the value."""
        self.name = name
        self._query = query
        self._checked_as = checked_as

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text as given. Raises BadParameter."""
        return value if self._checked_as is None else self._checked_as.convert(value, param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The names that begin with the incomplete one; none if the cluster does not answer."""
        try:
            names = asyncio.run(self._names(dict(ctx.params)))
        except (ApiError, OlmError, OSError, TimeoutError):
            return []
        return [
            CompletionItem(each) for each in sorted(set(names)) if each.startswith(incomplete) and each == clean(each)
        ]

    async def _names(self, given: dict[str, Any]) -> list[str]:
        async with asyncio.timeout(TIMEOUT_SECONDS), client_of({key: given.get(key) for key in _OPTIONS}) as client:
            return list(await self._query(client, given))


async def _operators(client: Client, given: dict[str, Any]) -> Iterable[str]:
    found, _ = await client.list(operators.KIND, metadata_only=True)
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
    """The Package objects of the package that was given, or of the package of the Operator that was given."""
    name = given.get("package") or given.get("name_or_package") or ""
    if operator := given.get("operator"):
        name = (await client.get(operators.KIND, operator))["spec"]["packageName"]
    if not is_label_value(str(name)):
        return []
    found, _ = await client.list(packages.KIND, label_selector=f"{packages.PACKAGE_LABEL}={name}")
    return found


OPERATOR = ClusterName("operator", _operators, ObjectName())
PACKAGE = ClusterName("package", _packages, SomeText())
OPERATOR_OR_PACKAGE = ClusterName("name", _operators_and_packages, SomeText())
CHANNEL = ClusterName("channel", _channels)
VERSION = ClusterName("version", _versions)
