"""Explains why a request is refused, or a better version not selected, in sentences from a minimal set of conflicting clauses.

The sentence of the guide: `Unable to resolve because A v0.1.0 requires C v0.1.0, which conflicts with B latest requiring C
v0.2.0`. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from olmkit.gocompat.text import truncate
from operator_controller.resolve.explain.conflict import ConflictFinder
from operator_controller.resolve.explain.conflict_sentences import ConflictSentences
from operator_controller.resolve.explain.explanation import MAX_EXPLANATION_BYTES
from operator_controller.resolve.explain.near_misses import NearMisses
from operator_controller.resolve.explain.statements import Statement
from operator_controller.resolve.explain.unread_catalogs import catalogs_to_wait_for, conflict_packages, waiting_notes
from operator_controller.resolve.formatting import join_sentences
from operator_controller.resolve.selection.universe import ComponentUniverse
from operator_controller.resolve.snapshot.cluster_snapshot import CatalogSource
from operator_controller.resolve.snapshot.package_snapshot import CatalogState
from operator_controller.resolve.solver.clauses import AskedClause
from operator_controller.resolve.solver.optimum import Solution
from operator_controller.resolve.solver.solver_problem import Goal, Interval

MAX_MESSAGE_BYTES = 1024
"""UTF-8 bytes of the message of a refusal, without the versions that exist."""
UNEXPLAINED = "its requirements cannot be satisfied together with those of what is installed and requested"


@dataclass(frozen=True)
class Refusal:
    """`message` is for the condition Resolved, `text` continues it with what exists; `sentence` is the conflict alone."""

    message: str
    text: str
    sentence: str
    clauses: tuple[Statement, ...] = ()
    is_final: bool = True
    """True if no catalog whose current content is not known could lift it."""
    packages: tuple[str, ...] = ()
    """The packages that the conflict is about."""


@dataclass(frozen=True)
class Better:
    """A version that is not selected, and why."""

    version: str
    why: str
    """The reason why not, in one sentence."""

    @property
    def reason(self) -> str:
        """That sentence, about a version that could be had otherwise."""
        return f"{self.version} is available too, but {self.why}"


class Refusals:
    """Explains the refusals of one solution."""

    def __init__(
        self, universe: ComponentUniverse, goal: Goal, solution: Solution, catalogs: Sequence[CatalogSource] = ()
    ) -> None:
        self._universe, self._catalogs = universe, catalogs
        self._finder = ConflictFinder(universe, goal, solution)
        self._near_misses = NearMisses(universe, (name for each in catalogs for name in each.package_names))

    def refusal(self, package: str) -> Refusal:
        """Explain why the request for the package is refused."""
        found = self._sentences(package, None)
        if found is None:
            message = f"Unable to resolve because {UNEXPLAINED}"
            is_final = all(each.state is CatalogState.SERVING for each in self._catalogs)
            return Refusal(message, message, UNEXPLAINED, is_final=is_final)
        sentence = found.sentence()
        message = truncate(f"Unable to resolve because {sentence}", MAX_MESSAGE_BYTES)
        unread = catalogs_to_wait_for(self._universe, self._catalogs, found.clauses)
        packages = conflict_packages(found.clauses)
        notes = waiting_notes(unread, packages)
        text = join_sentences([message, *notes, *found.details()], MAX_EXPLANATION_BYTES)
        about = tuple(dict.fromkeys([*packages, *found.providers_being_deleted()]))
        return Refusal(message, text, sentence, found.listed(), not unread, about)

    def better(self, package: str) -> Better:
        """The best version of a package that was not selected, and why."""
        top = self._universe.size(package) - 1
        version = str(self._universe.version(package, top).version)
        found = self._sentences(package, (top, top))
        return Better(version, found.sentence() if found is not None else UNEXPLAINED)

    def _sentences(self, package: str, interval: Interval | None) -> ConflictSentences | None:
        """None if no minimal conflict was found within the budget: a clause that is not needed may be no reason at all."""
        conflict = self._finder.find(package, interval)
        if (
            conflict is None
            or not conflict.is_minimal
            or not any(isinstance(each, AskedClause) for each in conflict.clauses)
        ):
            return None
        return ConflictSentences(self._universe, conflict.clauses, self._near_misses)
