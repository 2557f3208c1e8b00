"""The fewest packages that nobody asked for: core-guided minimisation (OLL) over a lazy encoding.

All of them are assumed absent; each conflict among these assumptions shows that one more is needed, and a counter of its members
takes their place. The assumptions of the end hold in exactly the solutions with the fewest packages.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from operator_controller.resolve.solver.lazy_encoding import LazyEncoding

FIRST_COUNTER_LIMIT = 2
"""The limit of a new counter. It is replaced by one that counts twice as far when that is not enough: counting thousands of
providers of one kind, of which one is needed, must not take a clause for each pair of them."""


@dataclass(frozen=True, slots=True)
class _Counter:
    """`outputs[k]` is true if more than k of the members are; `position`: the output that is assumed to be false."""

    members: Sequence[int]
    outputs: Sequence[int]
    position: int


class FewestPackages:
    """Minimises the number of selected packages that are not in `always`, and closes the encoding to more of them.

    `always`: packages that each solution selects, as far as that is known.
    """

    def __init__(self, encoding: LazyEncoding, always: Collection[str]) -> None:
        self._encoding, self._always = encoding, always
        self._assumed: dict[int, _Counter | None] = {}
        """Each literal with its counter; None for the absence of a package."""
        self._seen = 0
        self.in_conflicts: set[str] = set()
        """The packages of which a solution with the fewest may select some; it selects no others."""
        self._package_of: dict[int, str] = {}

    def minimise(self) -> None:
        """Leave a solution with the fewest in `encoding.selection`, and no others in the encoding. Raises BudgetExhausted."""
        self._find_packages()
        while True:
            if not self._encoding.solve(list(self._assumed)):
                self._relax(self._shrink(self._encoding.solver.core))
            elif not self._find_packages():
                break
        self._encoding.close({*self._always, *self.in_conflicts})
        for literal in self._assumed:
            self._encoding.solver.add_clause([literal])

    def _find_packages(self) -> bool:
        """Add the packages that were not known before. Report whether the solution selects one of them."""
        found = [name for name in self._encoding.packages(self._seen) if name not in self._always]
        self._seen += len(list(self._encoding.packages(self._seen)))
        for name in found:
            literal = -self._encoding.literal(name, 0)
            self._assumed[literal] = None
            self._package_of[literal] = name
        return any(name in self._encoding.selection for name in found)

    def _shrink(self, core: tuple[int, ...]) -> list[int]:
        """Leave out members without which the rest conflicts already by unit propagation."""
        kept = sorted(core, key=abs)
        for literal in reversed(tuple(kept)):
            if len(kept) > 1:
                rest = [each for each in kept if each != literal]
                if self._encoding.solver.is_refuted(rest):
                    kept = rest
        return kept

    def _relax(self, core: list[int]) -> None:
        """One more member of the core is selected than was assumed."""
        members = [-literal for literal in core]
        self._encoding.solver.add_clause(members)
        for literal in core:
            counter = self._assumed.pop(literal)
            if counter is not None:
                self._assume(counter.members, counter.outputs, counter.position + 1)
            if literal in self._package_of:
                self.in_conflicts.add(self._package_of[literal])
        if len(core) > 1:
            self._assume(members, (), 1)

    def _assume(self, members: Sequence[int], outputs: Sequence[int], position: int) -> None:
        """Assume that no more than `position` of the members are true."""
        if position >= len(members):
            return
        while position >= len(outputs):
            outputs = self._count(members, max(FIRST_COUNTER_LIMIT, 2 * len(outputs)))
        self._assumed[-outputs[position]] = _Counter(members, outputs, position)

    def _count(self, literals: Sequence[int], limit: int) -> Sequence[int]:
        """New variables, at most `limit`; the one at position k is true if more than k of the literals are (a totalizer)."""
        if len(literals) == 1:
            return literals
        solver, middle = self._encoding.solver, len(literals) // 2
        low, high = self._count(literals[:middle], limit), self._count(literals[middle:], limit)
        outputs = [solver.new_variable() for _ in literals[:limit]]
        for position, literal in enumerate(low):
            solver.add_clause([-literal, outputs[position]])
            for other_position, other in enumerate(high[: max(0, limit - position - 1)]):
                solver.add_clause([-literal, -other, outputs[position + other_position + 1]])
        for position, literal in enumerate(high):
            solver.add_clause([-literal, outputs[position]])
        return outputs
