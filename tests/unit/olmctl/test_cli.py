"""What is declared of the commands agrees with the code that does their work, which the declarations do not import."""

from __future__ import annotations

import ast
import importlib
import inspect
import textwrap
from collections.abc import Iterator
from typing import get_args

import click
import pytest

from olmctl.catalog.graph import WRITERS
from olmctl.cli.bundle import CERTIFICATE_MODES
from olmctl.cli.completion import ClusterName
from olmctl.cli.options import DOCUMENT_FORMATS, GRAPH_FORMATS
from olmctl.cluster.completion import QUERIES
from olmctl.main import olm
from olmkit.fbc.serialize import Format
from rukpak.render.endpoints import CertificateMode

CONNECTION = {"kubeconfig", "context", "impersonate", "system_namespace"}


def leaves(group: click.Group, *path: str) -> Iterator[tuple[str, click.Command]]:
    for name, command in sorted(group.commands.items()):
        if isinstance(command, click.Group):
            yield from leaves(command, *path, name)
        else:
            yield " ".join((*path, name)), command


COMMANDS = dict(leaves(olm))


def work_of(command: click.Command) -> inspect.Signature:
    """The signature of the function that the callback of the command imports."""
    assert command.callback is not None
    tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(command.callback))))
    (imported,) = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    return inspect.signature(getattr(importlib.import_module(str(imported.module)), imported.names[0].name))


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - {"completion"}))
def test_the_work_of_a_command_takes_its_arguments_and_options(name: str) -> None:
    signature = work_of(COMMANDS[name])
    given = {str(each.name) for each in COMMANDS[name].params}
    if "session" in signature.parameters:
        assert given >= CONNECTION
        given = given - CONNECTION | {"session"}
    signature.bind(**dict.fromkeys(given))


@pytest.mark.parametrize(
    ("declared", "known"),
    [
        pytest.param(DOCUMENT_FORMATS, get_args(Format), id="formats of documents"),
        pytest.param(GRAPH_FORMATS, tuple(WRITERS), id="formats of graphs"),
        pytest.param(
            CERTIFICATE_MODES,
            tuple(mode.name.lower().replace("_", "-") for mode in CertificateMode),
            id="who issues certificates",
        ),
    ],
)
def test_the_values_of_an_option_are_those_that_its_work_knows(declared: object, known: object) -> None:
    assert declared == known


def test_every_query_of_a_completed_name_exists() -> None:
    asked = {
        each.type.query
        for command in COMMANDS.values()
        for each in command.params
        if isinstance(each.type, ClusterName)
    }
    assert asked == QUERIES.keys()
