"""The option --output of commands that print documents, and the printing. Called by the commands of olmctl.catalog."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from olmkit.fbc.serialize import FORMATS, Format, serialize
from olmkit.gocompat.text import quoted

Command = TypeVar("Command", bound=Callable[..., Any])


class _FormType(click.ParamType[Format]):
    """json or yaml; another value is refused in opm's words."""

    name = "json|yaml"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Format:
        for form in FORMATS:
            if value == form:
                return form
        raise click.BadParameter(f"invalid --output value {quoted(value)}, expected (json|yaml)", ctx, param)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(form) for form in FORMATS if form.startswith(incomplete)]


def output_option(command: Command) -> Command:
    """Add the option -o, also --output: the format of the documents, JSON by default."""
    option = click.option(
        "-o", "--output", type=_FormType(), metavar="json|yaml", default="json", help="Output format.  [default: json]"
    )
    return option(command)


def print_documents(values: Iterable[Mapping[str, Any]], form: Format) -> None:
    """Write the documents to standard output. The caller flushes it."""
    for value in values:
        sys.stdout.buffer.write(serialize(value, form))
