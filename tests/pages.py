"""The fenced blocks of README.md, docs/ and config/samples, and how each block is tested.

Called by tests/cases/test_docs.py, which checks what can be checked without a cluster, and by tests/e2e/test_docs.py, which runs
the pages. The info string of a block decides how it is tested:

    ```sh            run, in the order of the page, in one shell for the page; it has to succeed
    ```sh status=1   run; it has to end with that status
    ```sh no-run     not run, because it requires what tests do not have: only its syntax and its commands are checked
    ```yaml          objects that the API server has to accept, strictly
    ```promql        every metric in it has to be served by catalogd
    ```tree          every path in it has to exist
    ```text, json, mermaid, dockerfile   what the sh block before it prints
    ```text no-run   what the sh block before it, which is not run either, might print

Pure, except for reading the pages.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

REPOSITORY = Path(__file__).resolve().parents[1]
SAMPLES = REPOSITORY / "config" / "samples" / "README.md"
PAGES = (REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md")), SAMPLES)
OUTPUT = frozenset({"text", "json", "mermaid", "dockerfile"})
NO_RUN = "no-run"
FATES = frozenset(
    {("sh", ""), ("sh", "status=1"), ("sh", NO_RUN), ("text", NO_RUN), ("yaml", ""), ("promql", ""), ("tree", "")}
)
ANYTHING = "…"
"""Placeholders in shown output for values that differ each time."""

_SHELL = "sh"
_CHANGING = (
    (re.compile(r"sha256:[0-9a-f]{64}"), "DIGEST"),
    (re.compile(r"\b\d+(?:s|m|h|d)(?:\d+(?:s|m|h))?(?!\w)"), "AGE"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "TIME"),
)
"""Digests, ages and times in columns of kubectl, which match any other value."""


@dataclass(frozen=True)
class Block:
    """A fenced block. `line` is the line of its first fence, from 1."""

    page: str
    line: int
    language: str
    marker: str
    text: str

    @property
    def place(self) -> str:
        """`docs/catalog.md:12`."""
        return f"{self.page}:{self.line}"

    @property
    def is_command(self) -> bool:
        """Whether it is run."""
        return self.language == _SHELL and self.marker != NO_RUN

    @property
    def is_output(self) -> bool:
        """Whether it is the output of commands."""
        return self.language in OUTPUT and not self.marker

    @property
    def has_fate(self) -> bool:
        """Whether its info string is one of those above."""
        return self.is_output or (self.language, self.marker) in FATES

    @property
    def status(self) -> int:
        """The expected exit status of its commands."""
        return int(self.marker.removeprefix("status=") or 0)


@dataclass(frozen=True)
class Step:
    """A block that is run, and the block with its output."""

    commands: Block
    shown: Block | None


def name_of(page: Path) -> str:
    """The page's path in the repository."""
    return page.relative_to(REPOSITORY).as_posix()


@functools.cache
def blocks(page: Path) -> Sequence[Block]:
    """All blocks of the page, in order; an indented block has no language and is not tested."""
    found = []
    for token in MarkdownIt("commonmark").disable("inline").parse(page.read_text()):
        if token.type in ("fence", "code_block") and token.map:
            language, _, marker = token.info.strip().partition(" ")
            found.append(Block(name_of(page), token.map[0] + 1, language, marker.strip(), token.content))
    return found


def steps(page: Path) -> Iterator[Step]:
    """The blocks of a page to run, in order. Output belongs to the commands before it; test_docs checks that there are any."""
    waiting: Block | None = None
    for block in blocks(page):
        if block.is_command:
            if waiting:
                yield Step(waiting, None)
            waiting = block
        elif block.is_output and waiting:
            yield Step(waiting, block)
            waiting = None
    if waiting:
        yield Step(waiting, None)


def strays(page: Path) -> list[str]:
    """Positions of blocks of output without commands before them. Output of commands that are not run is not compared."""
    shown = {step.shown for step in steps(page)}
    found = blocks(page)
    unsaid = [
        block
        for before, block in zip([None, *found], found, strict=False)
        if (block.language, block.marker) == ("text", NO_RUN)
        and (before is None or (before.language, before.marker) != (_SHELL, NO_RUN))
    ]
    return [block.place for block in found if (block.is_output and block not in shown) or block in unsaid]


def agrees(shown: str, printed: str) -> bool:
    """Whether the output matches: whitespace is one blank, digests and times match any other, an ellipsis matches anything."""
    pattern = re.escape(_evened(shown)).replace(re.escape(ANYTHING), ".*")
    return re.fullmatch(pattern, _evened(printed), re.DOTALL) is not None


def _evened(text: str) -> str:
    for pattern, word in _CHANGING:
        text = pattern.sub(word, text)
    return "\n".join(" ".join(line.split()) for line in text.strip().splitlines())


_PRODUCTS = ("olmkit", "catalogd", "rukpak", "operator_controller")
_RAISED = frozenset({"Blocked", "Waiting"})
_ENUMS = ("Reason", "KeptOutBy")
_REASON = re.compile(r"([A-Z][a-z]+)+")


def reasons_of_the_code() -> set[str]:
    """Every reason that the controllers can write: those of the enums, of Events, and the words that errors are raised with."""
    found: set[str] = set()
    for product in _PRODUCTS:
        for path in (REPOSITORY / product).rglob("*.py"):
            text = path.read_text()
            tree = ast.parse(text)
            if "PendingEvent(" in text:
                found |= set(_constants_named_like_their_values(tree))
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef) and node.name.endswith(_ENUMS):
                    members = [member.value for member in node.body if isinstance(member, ast.Assign)]
                    found |= {word for value in members for word in _first(value)}
                elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _RAISED:
                    found |= {word for argument in node.args for word in _first(argument)}
    return {word for word in found if _REASON.fullmatch(word)}


def _constants_named_like_their_values(tree: ast.Module) -> Iterator[str]:
    """The reasons of Events alone, such as DRIFT_REPAIRED = "DriftRepaired"."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id.replace("_", "").lower()
            yield from (word for word in _first(node.value) if word.lower() == name)


def _first(value: ast.expr) -> list[str]:
    """The word of a member, which may be followed by its description."""
    parts = value.elts[:1] if isinstance(value, ast.Tuple) else [value]
    return [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
