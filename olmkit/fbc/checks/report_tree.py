"""Problems as the tree that opm prints. Made by olmkit.fbc.checks.model_checks, printed by `validate`. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(slots=True)
class Branch:
    """A sentence and what stands below it: sentences or further branches. One without any is no problem."""

    sentence: str
    below: list[Branch | str] = field(default_factory=list)

    @property
    def count(self) -> int:
        """The number of leaves."""
        return sum(1 if isinstance(each, str) else each.count for each in self.below)

    def text(self) -> str:
        """The tree with opm's branches, without a newline at its end."""
        return "\n".join([f"{self.sentence}:", *_lines(self, "")])

    def sentences(self, way: str = "") -> Iterator[str]:
        """Each leaf as one line: the sentences that lead to it, then its own, with colons between."""
        for each in self.below:
            if isinstance(each, str):
                yield f"{way}{self.sentence}: {each}"
            else:
                yield from each.sentences(f"{way}{self.sentence}: ")


def _lines(branch: Branch, indent: str) -> Iterator[str]:
    for number, each in enumerate(branch.below, 1):
        corner, stem = ("└── ", "    ") if number == len(branch.below) else ("├── ", "│   ")
        if isinstance(each, str):
            yield f"{indent}{corner}{each}"
        else:
            yield f"{indent}{corner}{each.sentence}:"
            yield from _lines(each, indent + stem)
