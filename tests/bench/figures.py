"""Figures and their table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One row: what was measured, the result, and the aim."""

    work: str
    result: str
    aim: str = ""


def table(figures: list[Figure]) -> str:
    """The figures as a Markdown table."""
    head = "| work | measured | aim |\n|---|---|---|\n"
    return head + "".join(f"| {figure.work} | {figure.result} | {figure.aim} |\n" for figure in figures)


def in_units(seconds: float, reference: float) -> str:
    """Seconds, and the same in C."""
    return f"{seconds:.2f} s = {seconds / reference:.1f} C"
