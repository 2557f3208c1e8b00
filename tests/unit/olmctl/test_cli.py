"""What is declared of the commands agrees with the code that does their work, which the declarations do not import."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import get_args

import click
import pytest
from click.shell_completion import ShellComplete

from olmctl.authoring.serialize import Format
from olmctl.catalog.graph import WRITERS
from olmctl.cli.bundle import CERTIFICATE_MODES
from olmctl.cli.completion import ClusterName
from olmctl.cli.options import DOCUMENT_FORMATS, GRAPH_FORMATS
from olmctl.main import olm
from olmctl.operators.completion import QUERIES
from rukpak.render.endpoints import CertificateMode

CONNECTION = {"kubeconfig", "context", "impersonate", "system_namespace"}


def leaves(group: click.Group, *path: str) -> Iterator[tuple[str, click.Command]]:
    for name, command in sorted(group.commands.items()):
        if isinstance(command, click.Group):
            yield from leaves(command, *path, name)
        else:
            yield " ".join((*path, name)), command


def groups(group: click.Group, *path: str) -> Iterator[tuple[tuple[str, ...], click.Group]]:
    yield path, group
    for name, command in sorted(group.commands.items()):
        if isinstance(command, click.Group):
            yield from groups(command, *path, name)


COMMANDS = dict(leaves(olm))
GROUPS = dict(groups(olm))


def work_of(command: click.Command) -> inspect.Signature:
    """The signature of the function that the callback of the command imports, by name if it stands above the commands."""
    assert command.callback is not None
    tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(command.callback))))
    if named := re.findall(r"import_module\('([\w.]+)'\)", ast.unparse(tree)):
        return inspect.signature(importlib.import_module(named[0]).run)
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


def first_sentences(group: click.Group) -> Mapping[str, str]:
    """The first paragraph of the help of each command."""
    return {name: str(command.help).partition("\n\n")[0] for name, command in group.commands.items()}


@pytest.mark.parametrize("path", GROUPS, ids=lambda path: " ".join(("olm", *path)))
def test_the_help_of_a_group_shows_whole_sentences_on_a_terminal_of_80_columns(
    path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    group = GROUPS[path]
    context = group.make_context("olm", [], resilient_parsing=True)
    _, _, rows = group.get_help(context).partition("\nCommands:\n")
    shown = dict(row.split(maxsplit=1) for row in rows.splitlines())
    assert shown == first_sentences(group)


@pytest.mark.parametrize("path", GROUPS, ids=lambda path: " ".join(("olm", *path)))
def test_the_completion_of_a_group_describes_its_commands_in_whole_sentences(path: tuple[str, ...]) -> None:
    found = ShellComplete(olm, {}, "olm", "").get_completions(list(path), "")
    assert {each.value: each.help for each in found} == first_sentences(GROUPS[path])
