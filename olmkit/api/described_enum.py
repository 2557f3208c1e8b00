"""Enums of words whose meaning is part of the API: condition types and reasons. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class DescribedEnum(StrEnum):
    """A member is declared as `NAME = "Word", "what it means"`; its value is the word."""

    description: str

    def __new__(cls, word: str, description: str = "") -> Self:
        """Called for each member of a subclass."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.description = description
        return member
