"""The tree of errors that opm prints. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(slots=True)
class Branch:
    """A sentence and the sentences or branches below it. A branch with nothing below it is no error."""

    sentence: str
    below: list[Branch | str] = field(default_factory=list)

    @property
    def count(self) -> int:
        """The number of leaves."""
        return sum(1 if isinstance(each, str) else each.count for each in self.below)

    def text(self) -> str:
        """The tree as opm prints it, without a newline at its end."""
        return "\n".join([f"{self.sentence}:", *_lines(self, "")])

    def sentences(self, prefix: str = "") -> Iterator[str]:
        """Each leaf as one line: the sentences that lead to it and its own, separated by colons."""
        for each in self.below:
            if isinstance(each, str):
                yield f"{prefix}{self.sentence}: {each}"
            else:
                yield from each.sentences(f"{prefix}{self.sentence}: ")


def _lines(branch: Branch, indent: str) -> Iterator[str]:
    for number, each in enumerate(branch.below, 1):
        corner, stem = ("└── ", "    ") if number == len(branch.below) else ("├── ", "│   ")
        if isinstance(each, str):
            yield f"{indent}{corner}{each}"
        else:
            yield f"{indent}{corner}{each.sentence}:"
            yield from _lines(each, indent + stem)
