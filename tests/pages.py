"""The pages of README.md, docs/ and config/samples, cut into their fenced blocks, and what becomes of each block in a test.

Called by tests/cases/test_docs.py, which checks what can be checked without a cluster, and by tests/e2e/test_docs.py, which runs
the pages. What happens to a block is said by its info string, where a reader of the source sees it too:

    ```sh            run, in the order of the page, in one shell for the page; it has to succeed
    ```sh status=1   run; it has to end with that status
    ```sh no-run     not run, as it needs what no test has: only its syntax and the commands in it are checked
    ```yaml          objects that the API server has to accept, strictly
    ```promql        every metric in it has to be served by catalogd
    ```tree          every path in it has to exist
    ```text, json, mermaid, dockerfile   what the sh block before it prints
    ```text no-run   what the sh block before it, which is not run either, might print

Pure but for reading the pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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
"""What stands in shown output for what is another each time."""

_SHELL = "sh"
_CHANGING = (
    (re.compile(r"sha256:[0-9a-f]{64}"), "DIGEST"),
    (re.compile(r"\b\d+(?:s|m|h|d)(?:\d+(?:s|m|h))?(?!\w)"), "AGE"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "TIME"),
)
"""Digests, ages and times of kubectl's columns: any of them is as good as the one that a page shows."""


@dataclass(frozen=True)
class Block:
    """A fenced block. `line` is that of its first fence, from 1."""

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
        """Whether it is what commands print."""
        return self.language in OUTPUT and not self.marker

    @property
    def has_fate(self) -> bool:
        """Whether its info string is one of those above."""
        return self.is_output or (self.language, self.marker) in FATES

    @property
    def status(self) -> int:
        """With what status its commands have to end."""
        return int(self.marker.removeprefix("status=") or 0)


@dataclass(frozen=True)
class Step:
    """A block that is run, and the block that shows what it prints."""

    commands: Block
    shown: Block | None


def name_of(page: Path) -> str:
    """The page's path in the repository."""
    return page.relative_to(REPOSITORY).as_posix()


def blocks(page: Path) -> list[Block]:
    """All blocks of the page in order; one that is only indented has no language, and so no fate."""
    found = []
    for token in MarkdownIt("commonmark").parse(page.read_text()):
        if token.type in ("fence", "code_block") and token.map:
            language, _, marker = token.info.strip().partition(" ")
            found.append(Block(name_of(page), token.map[0] + 1, language, marker.strip(), token.content))
    return found


def steps(page: Path) -> Iterator[Step]:
    """What is run of the page, in order. Output belongs to the commands before it; test_docs checks that there are some."""
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
    """Places of blocks of output that no commands precede; of commands that are not run the output is not compared."""
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
    """Whether that was printed: blanks count as one, digests and times as any other, and an ellipsis stands for anything."""
    pattern = re.escape(_evened(shown)).replace(re.escape(ANYTHING), ".*")
    return re.fullmatch(pattern, _evened(printed), re.DOTALL) is not None


def _evened(text: str) -> str:
    for pattern, word in _CHANGING:
        text = pattern.sub(word, text)
    return "\n".join(" ".join(line.split()) for line in text.strip().splitlines())
