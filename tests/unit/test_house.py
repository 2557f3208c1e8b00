"""The house keeps its shape: size of files and functions, docstrings, tests where their subject is, plain words, no dead code.

Reads the code as text; ruff, mypy and import-linter check the rest (`make check`).
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRODUCTS = ("olmkit", "catalogd", "rukpak", "operator_controller", "olmctl")
TOOLS = ("devcluster", "release")
"""Never shipped."""
MAX_FILE_LINES = 400
MAX_TEST_FILE_LINES = 850
"""Tables of cases are data, and longer."""
MAX_FUNCTION_LINES = 40
TIERS = ("unit", "integration", "cluster")
CONTROLLERS = ("catalogd/catalog", "rukpak/bundle", "rukpak/bundledeployment", "operator_controller/operator")
STEPS = ("world", "decide", "act", "report", "events", "reconciler")
UNWANTED_WORDS = re.compile(
    r"\b(told|mend(s|ed|ing)?|wish(es|ed)?|goes on by itself|beside the system)\b", re.IGNORECASE
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def files(*folders: str) -> tuple[Path, ...]:
    """The Python files of these folders, without what tools leave there."""
    return tuple(sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py")))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def lines(path: Path) -> int:
    return len(path.read_text().splitlines())


def body_lines(function: Function) -> int:
    """Lines of the body without its docstring."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def public(body: list[ast.stmt]) -> Iterator[Function | ast.ClassDef]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node


def is_protocol(node: ast.ClassDef) -> bool:
    return any(isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases)


@pytest.mark.parametrize(
    ("folders", "limit"),
    [
        pytest.param((*PRODUCTS, *TOOLS), MAX_FILE_LINES, id="code"),
        pytest.param(("tests",), MAX_TEST_FILE_LINES, id="tests"),
    ],
)
def test_no_file_is_too_long(folders: tuple[str, ...], limit: int) -> None:
    assert [f"{relative(path)}: {lines(path)}" for path in files(*folders) if lines(path) > limit] == []


def test_no_function_is_too_long() -> None:
    found = [
        f"{relative(path)}: {node.name}: {body_lines(node)}"
        for path in files(*PRODUCTS, *TOOLS)
        for node in ast.walk(tree(path))
        if isinstance(node, Function) and body_lines(node) > MAX_FUNCTION_LINES
    ]
    assert found == []


def test_what_is_public_has_a_docstring() -> None:
    found = []
    for path in files(*PRODUCTS, *TOOLS):
        for node in public(tree(path).body):
            inner = public(node.body) if isinstance(node, ast.ClassDef) and not is_protocol(node) else ()
            found += [f"{relative(path)}: {each.name}" for each in (node, *inner) if not ast.get_docstring(each)]
    assert found == []


def test_a_test_stands_at_the_path_of_what_it_tests() -> None:
    """tests/<tier>/package/test_module.py or test_module_aspect.py is about package/module.py, or about the package `module`."""
    subjects = {relative(path).removesuffix(".py") for path in files(*PRODUCTS, *TOOLS)}
    subjects |= {relative(path.parent) for path in files(*PRODUCTS, *TOOLS)} | {"config", "tilt", "github"}
    found = []
    for path in files(*(f"tests/{tier}" for tier in TIERS)):
        if not path.name.startswith("test_") or path == Path(__file__):
            continue
        folder = "/".join(path.relative_to(ROOT).parts[2:-1])
        words = path.stem.removeprefix("test_").split("_")
        names = ("_".join(words[:count]) for count in range(1, len(words) + 1))
        if not any(f"{folder}/{name}".removeprefix("/") in subjects for name in names):
            found.append(relative(path))
    assert found == []


@pytest.mark.parametrize("folder", CONTROLLERS)
def test_each_controller_has_the_same_files(folder: str) -> None:
    assert [step for step in STEPS if not (ROOT / folder / f"{step}.py").is_file()] == []


def test_the_words_are_plain() -> None:
    texts = [
        *(path for path in files(*PRODUCTS, *TOOLS, "tests") if path != Path(__file__)),
        *(path for folder in ("docs", "config") for kind in ("*.md", "*.yaml") for path in (ROOT / folder).rglob(kind)),
        *ROOT.glob("*.md"),
        *(path for kind in ("*.md", "*.yml") for path in (ROOT / ".github").rglob(kind)),
        ROOT / "Makefile",
    ]
    found = [
        f"{relative(path)}:{number}: {line.strip()}"
        for path in texts
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if UNWANTED_WORDS.search(line)
    ]
    assert found == []


def test_the_modules_that_the_architecture_names_exist() -> None:
    """Also in lists of the form `package`: `module`, `module`."""
    text = " ".join((ROOT / "ARCHITECTURE.md").read_text().split())
    named = set(re.findall(rf"`((?:{'|'.join(PRODUCTS)})(?:\.\w+)+)`", text))
    for package, modules in re.findall(r"`([\w.]+)`: ((?:`[\w.]+`(?:, )?)+)", text):
        named |= {f"{package}.{module}" for module in re.findall(r"`([\w.]+)`", modules)}
    assert len(named) > len(PRODUCTS)
    paths = {name: ROOT / name.replace(".", "/") for name in named}
    assert [name for name, path in paths.items() if not (path.is_dir() or path.with_suffix(".py").is_file())] == []


def test_no_code_is_dead() -> None:
    """What is used by name alone (by a library, by a job, by kubectl) is listed in [tool.vulture] of pyproject.toml."""
    command = [sys.executable, "-m", "vulture"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (answer.stdout, answer.returncode) == ("", 0)
