"""The last results of work that many sessions ask for with the same values, so that it is done once.

What a result was made of are the same objects, not equal ones: to compare them costs nothing. Pure.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Hashable, Sequence
from typing import Generic, TypeVar

Result = TypeVar("Result")


class Recent(Generic[Result]):
    """Results by a key and by the objects that they were made of; the oldest gives way."""

    def __init__(self, size: int) -> None:
        self._kept: deque[tuple[Hashable, tuple[object, ...], Result]] = deque(maxlen=size)

    def find(self, key: Hashable, made_of: Sequence[object]) -> Result | None:
        """The result that was put with an equal key and these same objects."""
        for known, objects, result in self._kept:
            if known == key and len(objects) == len(made_of) and all(map(operator.is_, objects, made_of)):
                return result
        return None

    def put(self, key: Hashable, made_of: Sequence[object], result: Result) -> Result:
        """Keep a result; returns it."""
        self._kept.appendleft((key, tuple(made_of), result))
        return result
