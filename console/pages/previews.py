"""The things that a version would bring, before it is installed: permissions and definitions, from the summary of its bundle.

Never writes.
"""

from __future__ import annotations

from dataclasses import dataclass

from console.views.changes import Notice, Section
from olmctl.questions.session import Session


@dataclass(frozen=True)
class Preview:
    """The knowledge about a version. `is_known`: its permissions are."""

    sections: tuple[Section, ...] = ()
    notices: tuple[Notice, ...] = ()
    is_known: bool = False


NOT_THERE = "Permissions and CustomResourceDefinitions of this version are not known before it is installed."


async def permission_sections(session: Session, catalog: str, package: str, bundle: str) -> Preview:
    """The permissions that a bundle asks for. Nothing is known without the summary of the bundle."""
    del session, catalog, package, bundle
    return Preview(notices=(Notice("info", "No preview is there.", NOT_THERE),))
