"""The types of arguments and options whose values shells complete with names of the cluster.

The names are read by olmctl.operators.completion, which is imported only then. Whatever goes wrong, nothing is completed.
"""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from olmctl.cli.options import ObjectName
from olmctl.terminal import clean
from olmkit.errors import ApiError, OlmError


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

    def __init__(self, name: str, query: str, checked_as: click.ParamType[str] | None = None) -> None:
        """`query` is a key of olmctl.operators.completion.QUERIES; `checked_as` is the type of the value."""
        self.name = name
        self.query = query
        self._checked_as = checked_as

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text as given. Raises BadParameter."""
        return value if self._checked_as is None else self._checked_as.convert(value, param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The names that begin with the incomplete one; none if the cluster does not answer."""
        from olmctl.operators.completion import names

        try:
            found = names(self.query, dict(ctx.params))
        except (ApiError, OlmError, OSError, TimeoutError):
            return []
        return [
            CompletionItem(each) for each in sorted(set(found)) if each.startswith(incomplete) and each == clean(each)
        ]


OPERATOR = ClusterName("operator", "operators", ObjectName())
PACKAGE = ClusterName("package", "packages", SomeText())
OPERATOR_OR_PACKAGE = ClusterName("name", "operators_and_packages", SomeText())
CHANNEL = ClusterName("channel", "channels")
VERSION = ClusterName("version", "versions")
