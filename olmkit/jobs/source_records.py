"""Records of the sources of jobs: which have answered, and which have delivered what a job fetched.

Filled by the scheduler; the memory budget orders jobs by it. One set per process, in memory only: after a restart each source is
asked once more. docs/decisions/0070.
"""

from __future__ import annotations

from collections import OrderedDict

MAX_SOURCES = 1000
"""The sources that are remembered, of each kind: those that were used last. Their names are those that users write."""


class SourceRecords:
    """Sources by name, as in Task.source; "" is none, which counts as one that delivers."""

    def __init__(self) -> None:
        self._answered: OrderedDict[str, None] = OrderedDict()
        self._delivered: OrderedDict[str, None] = OrderedDict()

    def answers(self, source: str) -> bool:
        """Report whether the source has answered, and has not failed since."""
        return not source or source in self._answered

    def has_delivered(self, source: str) -> bool:
        """Report whether a job of the source has ended with a result."""
        return not source or source in self._delivered

    def answered(self, source: str) -> None:
        """The source gave an answer."""
        _remember(self._answered, source)

    def delivered(self, source: str) -> None:
        """The source gave what a job fetched."""
        self.answered(source)
        _remember(self._delivered, source)

    def failed(self, source: str) -> None:
        """A job of the source may succeed later: it is asked for an answer before the next one."""
        self._answered.pop(source, None)


def _remember(sources: OrderedDict[str, None], source: str) -> None:
    sources[source] = None
    sources.move_to_end(source)
    if len(sources) > MAX_SOURCES:
        sources.popitem(last=False)
