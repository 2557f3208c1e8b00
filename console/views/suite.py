"""The suite itself on the cluster: its controllers with their leaders, and its CustomResourceDefinitions. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from console.views.parts import Badge, Note


@dataclass(frozen=True)
class ObjectRow:
    """One object of the suite, as olmctl.suite.objects judges it."""

    kind: str
    name: str
    namespace: str
    badge: Badge
    message: str = ""
    version: str = ""
    ready: str = ""
    leader: str = ""


@dataclass(frozen=True)
class SuiteView:
    """The page."""

    summary: str
    badge: Badge
    controllers: tuple[ObjectRow, ...]
    definitions: tuple[ObjectRow, ...]
    notes: tuple[Note, ...]
    command: str = "olm suite status -o wide"


def suite_view(controllers: Sequence[ObjectRow], definitions: Sequence[ObjectRow], notes: Sequence[Note]) -> SuiteView:
    """The page."""
    bad = [row for row in (*controllers, *definitions) if row.badge.kind != "ok"]
    badge = Badge("bad", "Needs attention", "alert") if bad else Badge("ok", "Healthy", "check")
    text = "Its controllers and its kinds are as they should be."
    if bad:
        text = f"{len(bad)} of {len(controllers) + len(definitions)} controllers and kinds need attention."
    return SuiteView(text, badge, tuple(controllers), tuple(definitions), tuple(notes))
