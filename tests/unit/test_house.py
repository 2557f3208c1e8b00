"""The house keeps its shape: size of files and functions, docstrings, tests where their subject is, plain words, no dead code.

Reads the code as text; ruff, mypy and import-linter check the rest (`make check`).
"""

from __future__ import annotations

import ast
import gc
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRODUCTS = ("olmkit", "catalogd", "rukpak", "operator_controller", "olmctl", "console")
TOOLS = ("devcluster", "release")
"""Never shipped."""
MAX_FILE_LINES = 600
MAX_TEST_FILE_LINES = 850
"""Tables of cases are data, and longer."""
MAX_FUNCTION_LINES = 40
MAX_JOURNEY = 37
"""Modules on the way of a change through a controller, as ARCHITECTURE.md counts them."""
TIERS = ("unit", "integration", "cluster")
CONTROLLERS = (
    *("catalogd/catalog", "rukpak/bundle", "rukpak/bundledeployment"),
    *("operator_controller/operator", "operator_controller/clusterextension"),
)
STEPS = ("world", "decide", "act", "report", "events", "reconciler")
UNWANTED_WORDS = re.compile(
    r"\b(told|mend(s|ed|ing)?|wish(es|ed)?|goes on by itself|beside the system)\b", re.IGNORECASE
)
QUESTIONS = {"How", "What", "When", "Where", "Whether", "Which", "Who", "Why"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def files(*directories: str) -> tuple[Path, ...]:
    """The Python files of these directories, without what tools leave there."""
    return tuple(sorted(path for directory in directories for path in (ROOT / directory).rglob("*.py")))


@pytest.fixture(scope="module", autouse=True)
def _trees() -> Iterator[None]:
    """The trees of a thousand modules are no garbage: the collector would examine them again and again."""
    gc.disable()
    yield
    tree.cache_clear()
    gc.enable()


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
    ("directories", "limit"),
    [
        pytest.param((*PRODUCTS, *TOOLS), MAX_FILE_LINES, id="code"),
        pytest.param(("tests",), MAX_TEST_FILE_LINES, id="tests"),
    ],
)
def test_no_file_is_too_long(directories: tuple[str, ...], limit: int) -> None:
    assert [f"{relative(path)}: {lines(path)}" for path in files(*directories) if lines(path) > limit] == []


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


def texts(path: Path) -> Iterator[tuple[str, str]]:
    """The docstrings of a module with what they describe, and the texts that stand after constants and fields."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Module | ast.ClassDef | Function):
            yield getattr(node, "name", "module"), ast.get_docstring(node) or ""
            for field, text in pairwise(node.body):
                if not isinstance(field, ast.Assign | ast.AnnAssign) or not isinstance(text, ast.Expr):
                    continue
                if isinstance(text.value, ast.Constant) and isinstance(text.value.value, str):
                    yield ast.unparse(field), text.value.value


def test_a_docstring_begins_with_what_it_describes() -> None:
    """With a verb or a noun phrase: a question is no description."""
    found = [
        f"{relative(path)}: {name}: {words[0]}"
        for path in files(*PRODUCTS, *TOOLS)
        for name, text in texts(path)
        if (words := text.split()) and words[0].strip(",:") in QUESTIONS
    ]
    assert found == []


def test_a_test_stands_at_the_path_of_what_it_tests() -> None:
    """tests/<tier>/package/test_module.py or test_module_aspect.py is about package/module.py, or about the package `module`."""
    subjects = {relative(path).removesuffix(".py") for path in files(*PRODUCTS, *TOOLS)}
    subjects |= {relative(path.parent) for path in files(*PRODUCTS, *TOOLS)} | {
        "config",
        "file_scheduling",
        "github",
        "tilt",
    }
    found = []
    for path in files(*(f"tests/{tier}" for tier in TIERS)):
        if not path.name.startswith("test_") or path == Path(__file__):
            continue
        directory = "/".join(path.relative_to(ROOT).parts[2:-1])
        words = path.stem.removeprefix("test_").split("_")
        names = ("_".join(words[:count]) for count in range(1, len(words) + 1))
        if not any(f"{directory}/{name}".removeprefix("/") in subjects for name in names):
            found.append(relative(path))
    assert found == []


@pytest.mark.parametrize("directory", CONTROLLERS)
def test_each_controller_has_the_same_files(directory: str) -> None:
    assert [step for step in STEPS if not (ROOT / directory / f"{step}.py").is_file()] == []


def test_the_words_are_plain() -> None:
    texts = [
        *(path for path in files(*PRODUCTS, *TOOLS, "tests") if path != Path(__file__)),
        *(
            path
            for directory in ("docs", "config")
            for kind in ("*.md", "*.yaml")
            for path in (ROOT / directory).rglob(kind)
        ),
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


def named_modules(text: str) -> set[str]:
    """The modules and packages that a text names, also in lists of the form `package`: `module`, `module`."""
    words = " ".join(text.split())
    lists = re.findall(r"`([\w.]+)`: ((?:`[\w.]+`(?:, )?)+)", words)
    packages = {package for package, _ in lists}
    alone = set(re.findall(rf"`((?:{'|'.join(PRODUCTS)})(?:\.\w+)+)`", words)) - packages
    return alone | {f"{package}.{each}" for package, found in lists for each in re.findall(r"`([\w.]+)`", found)}


def test_the_journeys_of_the_architecture_are_short_and_counted() -> None:
    sections = (ROOT / "ARCHITECTURE.md").read_text().split("\n## From ")[1:]
    assert len(sections) == 2
    for section in sections:
        said = re.search(r"Through (\d+) modules", section)
        steps = re.search(r"^1\. .*?(?=\n\n)", section, re.DOTALL | re.MULTILINE)
        assert said is not None
        assert steps is not None
        assert int(said[1]) == len(named_modules(steps[0])) <= MAX_JOURNEY


def test_the_modules_that_the_architecture_names_exist() -> None:
    named = named_modules((ROOT / "ARCHITECTURE.md").read_text())
    assert len(named) > len(PRODUCTS)
    paths = {name: ROOT / name.replace(".", "/") for name in named}
    assert [name for name, path in paths.items() if not (path.is_dir() or path.with_suffix(".py").is_file())] == []


def names_in_templates() -> set[str]:
    """The names that the templates of the console read of the values that they show."""
    shown = re.compile(r"{[{%].*?[%}]}", re.DOTALL)
    texts = (path.read_text() for path in (ROOT / "console" / "templates").glob("*.html"))
    return {name for text in texts for part in shown.findall(text) for name in re.findall(r"\.([a-z_]+)", part)}


def writes_a_file(node: ast.AST) -> bool:
    """Report whether a call makes or changes a file at a path."""
    if not isinstance(node, ast.Call) or any(each.arg == "fileobj" for each in node.keywords):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in ("write_text", "write_bytes", "touch", "symlink_to", "hardlink_to", "copyfile", "copytree", "mkstemp"):
        return True
    mode = [*node.args, *(each.value for each in node.keywords if each.arg == "mode")]
    texts = [each.value for each in mode if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return name == "open" and any(set(each) <= set("rwaxbt+") and set(each) & set("wa+") for each in texts)


def test_olm_replaces_files_in_one_way() -> None:
    """A checkout may bring links: a file of olm is new ("x"), or takes the place of another one in olmctl/file_replacement.py."""
    found = {
        f"{relative(path)}:{node.lineno}"
        for path in files("olmctl")
        if relative(path) != "olmctl/file_replacement.py"
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and writes_a_file(node)
    }
    assert not found
    assert [*map(writes_a_file, ast.walk(ast.parse("path.open('w')")))].count(True) == 1


def prints(node: ast.AST) -> bool:
    """Report whether a node prints by itself."""
    if isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("sys.stdout", "sys.stderr"):
        return node.attr in ("buffer", "write", "writelines")
    return isinstance(node, ast.Call) and ast.unparse(node.func) in ("print", "click.echo", "click.secho")


def test_olm_prints_in_one_way() -> None:
    """Names of files and texts of publishers could control a terminal: `say` makes them printable, and documents that escape them
    are printed by `write_document`."""
    found = {
        f"{relative(path)}:{node.lineno}"
        for path in files("olmctl")
        if relative(path) != "olmctl/terminal_output.py"
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call | ast.Attribute) and prints(node)
    }
    assert not found
    assert [*map(prints, ast.walk(ast.parse("sys.stderr.write(1), print(2), click.echo(3)")))].count(True) == 3


def test_no_code_is_dead(tmp_path: Path) -> None:
    """What is used by name alone (by a library, by a job, by kubectl) is listed in [tool.vulture] of pyproject.toml."""
    (tmp_path / "templates.py").write_text("".join(f"_.{name}\n" for name in sorted(names_in_templates())))
    command = [sys.executable, "-m", "vulture", *PRODUCTS, str(tmp_path / "templates.py")]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (answer.stdout, answer.returncode) == ("", 0)


# --- State lives in fields, never in sentences


DECIDING = ("decide", "progress", "finalize", "target", "rollback", "act")
"""The modules of a controller that decide; with them, those of the same directory that they import."""
OF_THE_PASS = ("error", "blocker", "missing", "outcome", "answer")
"""Names of what this pass has found: an error, or the answer of the Resolver. Its message becomes that of another error."""
_CONTROLLER = "rukpak/bundledeployment"
MESSAGES_ALLOWED: Mapping[str, str] = {
    "catalogd/catalog/reconciler.py: state.error.message": "a failure is logged once, and another one has another message",
    "catalogd/catalog/reconciler.py: before.error.message": "the same",
    f"{_CONTROLLER}/revisions/history.py: healthy.message": "the condition of this pass is the reason of a failed revision",
    f"{_CONTROLLER}/cluster/namespace_blockers.py: entry.get('message', '')": "in it alone Kubernetes names what blocks it",
    f"{_CONTROLLER}/apply/permission_check.py: error.message": "in it alone Kubernetes says that a role would give too much",
    f"{_CONTROLLER}/health/pod_problems.py: found.message": "what a pod says becomes the text of a problem",
    f"{_CONTROLLER}/health/pod_problems.py: waiting.get('message')": "the same",
    f"{_CONTROLLER}/operator_condition.py: condition.get('message')": "quoted; type and status decide",
    f"{_CONTROLLER}/cluster/pod_watch.py: crash.message": "the last line of a container becomes the text of a problem",
    "operator_controller/clusterextension/deprecations.py: each.message": "what a publisher says becomes the text of a condition",
    "operator_controller/clusterextension/resolution_sentence.py: failure.message": "copied where OLM v1 has no sentence",
    "operator_controller/operator/dependencies.py: neighbour.message": "quoted if there is one",
    "operator_controller/operator/planned_bundle.py: neighbour.message": "quoted if there is one",
    "operator_controller/operator/rejected_images.py: status.refused.message": "quoted; which image is refused is a field",
}
"""Messages that are read in another way than by copying them, and why that decides nothing."""


def deciding_modules(directory: str) -> set[Path]:
    """The modules of a controller that decide, and all of its directory that they import."""
    package, found = directory.replace("/", "."), set[Path]()
    remaining = [path for path in files(directory) if path.stem in DECIDING]
    while remaining:
        path = remaining.pop()
        if path in found or not path.is_file():
            continue
        found.add(path)
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(f"{package}."):
                imported = ROOT / (node.module or "").replace(".", "/")
                remaining += [imported.with_suffix(".py"), *(imported / f"{alias.name}.py" for alias in node.names)]
    return found


def is_message(node: ast.AST) -> bool:
    """`x.message`, `x["message"]` or `x.get("message")`."""
    if isinstance(node, ast.Attribute):
        return node.attr == "message" and isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value == "message"
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "get":
        return False
    return bool(node.args) and isinstance(node.args[0], ast.Constant) and node.args[0].value == "message"


def is_copy(node: ast.AST, parents: Mapping[ast.AST, ast.AST], *, is_deciding: bool) -> bool:
    """Whether a message only becomes a part of another text: of an error, a condition, a log line.

    Nothing that decides keeps it under a name, passes it to a function or returns it, unless this pass has found it.
    """
    receiver = node.value if isinstance(node, ast.Attribute | ast.Subscript) else node
    is_own = isinstance(receiver, ast.Name | ast.Attribute) and ast.unparse(receiver).split(".")[-1] in OF_THE_PASS
    child, parent = node, parents[node]
    while not isinstance(parent, ast.stmt):
        if isinstance(parent, ast.Compare | ast.UnaryOp | ast.Tuple | ast.Set | ast.comprehension):
            return False
        if isinstance(parent, ast.IfExp) and child is parent.test:
            return False
        if isinstance(parent, ast.BoolOp) and isinstance(parent.op, ast.And):
            return False
        if isinstance(parent, ast.Attribute) and parent.attr not in ("rstrip", "strip"):
            return False
        if isinstance(parent, ast.JoinedStr):
            return not any(isinstance(each, ast.Compare) for each in ancestors(parent, parents))
        if isinstance(parent, ast.Call) and child is not parent.func:
            name = ast.unparse(parent.func).split(".")[-1]
            return not is_deciding or is_own or name[0].isupper() or name == "truncate"
        child, parent = parent, parents[parent]
    return isinstance(parent, ast.Return | ast.Assign) and is_own


def ancestors(node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    while node in parents and not isinstance(node, ast.stmt):
        node = parents[node]
        yield node


@pytest.mark.parametrize("directory", CONTROLLERS)
def test_no_decision_reads_a_message(directory: str) -> None:
    """What a pass needs of an earlier one is a typed field of the status, or is recomputed from what is watched: a message may
    change in any release, and is cut at its limit. A report copies messages, and compares none."""
    deciding, found = deciding_modules(directory), []
    for path in files(directory):
        parents = {child: node for node in ast.walk(tree(path)) for child in ast.iter_child_nodes(node)}
        read = (
            node for node in parents if is_message(node) and not is_copy(node, parents, is_deciding=path in deciding)
        )
        found += [f"{relative(path)}: {ast.unparse(node)}" for node in read]
    assert len(deciding) >= 2
    assert sorted(found) == sorted(name for name in MESSAGES_ALLOWED if name.startswith(f"{directory}/"))


EVENTS = ("event_choice", "event_recorder", "held_progress", "status_publisher")
"""The modules of olmkit.runtime that choose and write Events."""
QUOTED_BY_EVENTS: Mapping[str, str] = {
    "event_choice: ((*warning, *_successes_despite_failure(changed, had), *advice), (fresh or leads)[0].message)": "is quoted by "
    "the Event about the recovery",
    "event_choice: min(failures, key=_specificity).message if failures else ''": "the same",
    "event_recorder: (metadata.get('uid', ''), event.type, event.action, event.reason, event.message)": "an Event with the same "
    "text is the same one, and is counted",
    "event_recorder: one_line(event.message)": "the text of the Event",
}
"""Messages that they read in another way than by copying them, and why that chooses no Event."""


def test_no_event_follows_from_a_message() -> None:
    """An Event follows from status, reason and cause of the conditions; messages are only copied into it, and into the log."""
    found = set[str]()
    for path in (ROOT / f"olmkit/runtime/{name}.py" for name in EVENTS):
        parents = {child: node for node in ast.walk(tree(path)) for child in ast.iter_child_nodes(node)}
        read = (node for node in parents if is_message(node) and not is_copy(node, parents, is_deciding=True))
        found |= {f"{path.stem}: {ast.unparse(parents[node])}" for node in read}
    assert found == set(QUOTED_BY_EVENTS)


# --- observe only reads, act and publish record


RECORDS = re.compile(
    r"(add|append|clear|discard|ensure|extend|insert|popitem|pop|remove|setdefault|sort|start|update)"
    r"|(cancel|drop|enqueue|expect|forget|mark|note|on|record|report|reset|take|wake|write)(_\w+)?"
)
"""Methods that change what they belong to, or tell somebody something."""
PUBLISHES = ("publish", "start_leading")


def functions(path: Path) -> dict[str, Function]:
    """All functions and methods of a module by name."""
    return {node.name: node for node in ast.walk(tree(path)) if isinstance(node, Function)}


def reached(path: Path, *names: str) -> dict[str, Function]:
    """These functions of a module, and those of the same module that they call."""
    known, found, remaining = functions(path), dict[str, Function](), list(names)
    while remaining:
        name = remaining.pop()
        if name not in known or name in found:
            continue
        found[name] = known[name]
        calls = (node.func for node in ast.walk(known[name]) if isinstance(node, ast.Call))
        remaining += [ast.unparse(func).removeprefix("self.") for func in calls]
    return found


def changes(function: Function) -> Iterator[str]:
    """What it assigns to or changes, but its own variables, and values that it has made itself."""
    made = {
        ast.unparse(target)
        for node in ast.walk(function)
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and isinstance(node.value, ast.Dict | ast.List | ast.Set | ast.DictComp | ast.ListComp | ast.SetComp)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    }
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            changed: ast.expr = node.value
        elif isinstance(node, ast.AugAssign):
            changed = node.target
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and RECORDS.fullmatch(node.func.attr):
            changed = node.func.value
        else:
            continue
        if ast.unparse(changed) not in made and ast.unparse(changed) != "world":  # which is frozen
            yield ast.unparse(node)


@pytest.mark.parametrize("directory", CONTROLLERS)
def test_observe_only_reads(directory: str) -> None:
    """What a pass finds out and a later one needs is part of the World: an observation can be cut short, and repeated."""
    observing = [path for path in files(directory) if "observe" in functions(path)]
    assert len(observing) == 1
    found = reached(observing[0], "observe")
    assert {f"{name}: {each}" for name, function in found.items() for each in changes(function)} == set()


@pytest.mark.parametrize("directory", CONTROLLERS)
def test_what_is_kept_between_passes_is_recorded_by_act_and_publish(directory: str) -> None:
    found = set[str]()
    for path in files(directory):
        recording = reached(path, *PUBLISHES)
        for name, function in functions(path).items():
            if path.stem != "act" and name not in recording:
                found |= {f"{relative(path)}: {each}" for each in changes(function) if "memor" in each}
    assert found == set()
