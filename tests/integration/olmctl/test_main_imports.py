"""Which modules the command `olm` imports, as a process: starting is most of what a short command costs.

What is imported beside click is listed, so that a new import is noticed. No time is asserted.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bundle_files import files, write

DECLARATIONS = {
    *("olmctl", "olmctl.main", "olmctl.commands", "olmctl.questions", "olmctl.questions.errors"),
    *("olmctl.terminal", "olmctl.terminal_output"),
    *(
        "olmctl.cli",
        "olmctl.cli.bundle",
        "olmctl.cli.bundle_check",
        "olmctl.cli.bundle_images",
        "olmctl.cli.bundle_project",
        "olmctl.cli.catalog",
        "olmctl.cli.cluster",
        "olmctl.cli.completion",
        "olmctl.cli.console",
        "olmctl.cli.migrate",
    ),
    *("olmctl.cli.options", "olmctl.cli.resolve", "olmctl.cli.suite"),
    *("olmkit", "olmkit.api", "olmkit.api.names", "olmkit.api.patterns", "olmkit.errors"),
    *("olmkit.gocompat", "olmkit.gocompat.text", "olmkit.runtime", "olmkit.runtime.flags"),
}
"""Our modules that declare all commands."""
HEAVY = {
    *(
        "aiohttp",
        "asyncio",
        "asyncssh",
        "cel",
        "cryptography",
        "dulwich",
        "isal",
        "jsonschema_rs",
        "kubernetes_asyncio",
    ),
    *(
        "greenlet",
        "msgspec",
        "orjson",
        "pathspec",
        "prometheus_client",
        "pydantic",
        "pysat",
        "re2",
        "ryaml",
        "semantic_version",
    ),
    *("ssl", "yaml", "zstandard"),
}
"""The packages of pyproject.toml but click, and what is slow of the standard library."""
CATALOG_PACKAGES = {"msgspec", "orjson", "pathspec", "re2", "ryaml", "semantic_version", "yaml"}
"""Packages that read and check a catalog."""

RECORD = """
import contextlib, io, json, sys
from olmctl.main import {function}
sys.argv = {argv!r}
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    {function}()
print(json.dumps(sorted(sys.modules)))
"""


def imported(function: str, *argv: str) -> set[str]:
    """The modules of a process that runs a function of olmctl.main with these words."""
    command = [sys.executable, "-c", RECORD.format(function=function, argv=list(argv))]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(json.loads(ran.stdout))


def own(modules: set[str]) -> set[str]:
    names = ("olmctl", "olmkit", "catalogd", "rukpak", "operator_controller")
    return {each for each in modules if each.partition(".")[0] in names}


@pytest.mark.parametrize(
    ("function", "argv"),
    [
        pytest.param("main", ("olm", "--version"), id="the version"),
        pytest.param("main", ("kubectl-olm", "--help"), id="the help of the plugin of kubectl"),
        pytest.param("main", ("olm", "suite", "--help"), id="the help of a group"),
        pytest.param("main", ("olm", "upgrade", "--help"), id="the help of a command that uses a cluster"),
        pytest.param("main", ("olm", "upgrade", "--wrong"), id="wrong usage"),
        pytest.param("main", ("olm", "completion", "bash"), id="the script of a shell"),
        pytest.param("kubectl_completion_main", ("kubectl_complete-olm", "ins"), id="completion of a command"),
        pytest.param(
            "kubectl_completion_main", ("kubectl_complete-olm", "install", "--"), id="completion of an option"
        ),
        pytest.param(
            "kubectl_completion_main",
            ("kubectl_complete-olm", "graph", "x", "-o", ""),
            id="completion of the value of an option",
        ),
    ],
)
def test_what_runs_no_command_imports_only_the_declarations(function: str, argv: tuple[str, ...]) -> None:
    found = imported(function, *argv)
    assert (own(found) - DECLARATIONS, found & HEAVY) == (set(), set())


def test_the_validation_of_a_catalog_imports_only_what_reads_one(tmp_path: Path) -> None:
    (tmp_path / "catalog.json").write_text('{"schema":"olm.package","name":"p"}\n')
    found = imported("main", "olm", "catalog", "validate", str(tmp_path))
    places = {".".join(each.split(".")[:2]) for each in own(found) - DECLARATIONS}
    assert places == {"olmctl.authoring", "olmctl.catalog", "olmctl.directory_files", "olmkit.fbc", "olmkit.gocompat"}
    assert found & HEAVY <= CATALOG_PACKAGES


def test_the_validation_of_a_bundle_imports_no_models_and_no_client(tmp_path: Path) -> None:
    found = imported("main", "olm", "bundle", "validate", str(write(tmp_path, files())))
    assert found & {"aiohttp", "asyncio", "cryptography", "kubernetes_asyncio", "pydantic", "pysat", "ssl"} == set()
