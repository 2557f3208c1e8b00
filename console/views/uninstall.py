"""The custom resources that are deleted with an Operator, on the page that asks for it, and the ways to keep them. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from console.links import page_url
from console.views.changes import Notice, Section
from console.views.instances import instance_path
from console.views.parts import plural
from olmctl.questions.custom_resources import MAX_NAMED, CustomResources


def deletion_notices(name: str, *, is_protected: bool) -> Iterable[Notice]:
    """The notices of an uninstallation that takes custom resources along."""
    yield Notice("bad", "Custom resources are deleted with it.", "This cannot be undone.")
    text = "Choose that CustomResourceDefinitions are kept when the Operator is deleted, and uninstall it then."
    yield Notice("info", "They can stay.", text, page_url("operators", name, "edit"), "Keep CustomResourceDefinitions")
    if not is_protected:
        text = "The deletion of a protected Operator is refused while there are any."
        yield Notice("info", "They can be protected.", text, page_url("operators", name, "protect"), "Protect")


def deletion_section(counts: Iterable[CustomResources]) -> Section | None:
    """The first custom resources that are deleted, as links; None if none is known by name."""
    counts, links = tuple(counts), []
    for each in counts:
        if (kind := each.kind) is None:
            continue
        for namespace, name in each.first:
            text = f"{kind.kind} {namespace}/{name}" if namespace else f"{kind.kind} {name}"
            listing = page_url("instances", kind.group, kind.version, kind.plural)
            links.append((instance_path(listing, namespace, name), text))
    if not links:
        return None
    rest = sum(each.count or 0 for each in counts) - len(links[:MAX_NAMED])
    lines = (f"These, and {plural(rest, 'other')}:",) if rest > 0 else ()
    return Section("Custom resources that are deleted", lines, links=tuple(links[:MAX_NAMED]))
