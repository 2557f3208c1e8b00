"""What the Resolver knows for one Operator: the answer to its present request, or why there is none yet.

The World of the Operator holds it. Values alone. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from olmkit.errors import OlmError
from operator_controller.resolve.answers.answer import Answer, AnswerKind


@dataclass(frozen=True)
class AnswerState:
    """An answer belongs to the uid, the spec and the running bundle of the Operator as the World has them."""

    answer: Answer | None = None
    """None: the present request is not resolved yet."""
    needs_recheck: bool = False
    """Whether the answer may change without a change of an object: a catalog that counts for the Operator is read again soon."""
    is_component_settled: bool = True
    """Whether no Operator of its component may come to require its package without a change of a spec or of content."""
    outdated_catalogs: tuple[str, ...] = ()
    """The catalogs that count for an Operator that is refused and wait for other content than they serve, sorted."""
    error: OlmError | None = None
    """Why the last attempt to resolve failed, if there is no answer."""
    since: datetime | None = None
    """Since when the present request has awaited its answer."""

    @property
    def certain_answer(self) -> Answer | None:
        """The answer, unless it is undecided or may still change."""
        answer = self.answer
        is_certain = answer is not None and answer.kind is not AnswerKind.UNDECIDED and not self.needs_recheck
        return answer if is_certain else None
