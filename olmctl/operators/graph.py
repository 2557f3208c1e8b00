"""`olm graph PACKAGE|OPERATOR`: the upgrade graph of a package, with what runs on the cluster and what is in reach of it."""

from __future__ import annotations

from olmctl.catalog.graph import WRITERS
from olmctl.commands import warn
from olmctl.operators.session import on_cluster
from olmctl.questions.graph import package_graph
from olmctl.questions.session import Session
from olmctl.terminal import clean_lines
from olmctl.terminal_output import write_document


@on_cluster
async def graph(session: Session, name_or_package: str, catalog: str | None, channel: str | None, output: str) -> int:
    """Print the upgrade graph of a package: which bundle can be upgraded to which, what runs, and what is in reach of it."""
    found = await package_graph(session, name_or_package, catalog, channel)
    for each in found.warnings:
        warn(each)
    write_document(clean_lines(WRITERS[output](found.drawing)))
    return 0
