"""The results of tests, as operator-sdk defines them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import orjson

from olmctl.scorecard.configuration import TestSpec

MAX_RESULTS = 1_000
"""Results of one test."""
MAX_TEXTS = 1_000
"""Errors, and suggestions, of one result."""


class State(StrEnum):
    """The state of a result."""

    PASS = "pass"
    FAIL = "fail"
    ERROR = "error"


@dataclass
class Result:
    """One result of a test."""

    name: str
    state: State = State.PASS
    errors: list[str] = field(default_factory=list)
    suggestions: list[str] = field(default_factory=list)
    log: str = ""


@dataclass(frozen=True)
class Outcome:
    """A test with its results; `seconds` is the time that it took."""

    spec: TestSpec
    results: Sequence[Result] = ()
    seconds: float = 0.0
    files: Path | None = None
    """A directory with the files that the test has stored."""

    @property
    def passed(self) -> bool:
        """True if all results are pass."""
        return all(each.state == State.PASS for each in self.results)


def failed(spec: TestSpec, text: str, log: str = "", state: State = State.FAIL, seconds: float = 0.0) -> Outcome:
    """The outcome of a test without results of its own."""
    return Outcome(spec, (Result(spec.name, state, [text], log=log),), seconds)


def with_suggestions(outcome: Outcome, texts: Sequence[str]) -> Outcome:
    """The outcome with more suggestions in its last result."""
    if not texts:
        return outcome
    *others, last = outcome.results
    return replace(outcome, results=(*others, replace(last, suggestions=[*last.suggestions, *texts])))


def results_of(text: str) -> list[Result]:
    """The results that a test prints as JSON: {"results": [...]}. Raises ValueError for other text."""
    document = orjson.loads(text)
    listed = document.get("results") if isinstance(document, dict) else None
    if isinstance(listed, list) and len(listed) > MAX_RESULTS:
        raise ValueError(f"it has more than {MAX_RESULTS:,} results")
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise ValueError("it has no list `results` of objects")
    return [_result(each) for each in listed]


def _result(value: dict[str, Any]) -> Result:
    state = value.get("state")
    if state not in list(State):
        raise ValueError(f"a result has the state {state!r}, which is none of {', '.join(State)}")
    errors, suggestions = _texts(value.get("errors")), _texts(value.get("suggestions"))
    return Result(str(value.get("name") or ""), State(state), errors, suggestions, str(value.get("log") or ""))


def _texts(value: Any) -> list[str]:
    return bounded([*map(str, value[: MAX_TEXTS + 1])], len(value)) if isinstance(value, list) else []


def bounded(texts: list[str], count: int) -> list[str]:
    """The first errors or suggestions, and the number of the others. `count`: so many there are."""
    return texts if count <= MAX_TEXTS else [*texts[:MAX_TEXTS], f"and {count - MAX_TEXTS:,} more"]
