"""Asks a person before something is moved."""

from __future__ import annotations

import sys

import click

from olmctl.commands import REFUSED, CommandError


def confirm(question: str) -> None:
    """Ask at the terminal. Raises CommandError unless the answer is yes."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise CommandError(REFUSED, "nothing is changed: confirm it with --yes")
    if not click.confirm(f"\n{question}", err=True):
        raise CommandError(REFUSED, "nothing is changed")
