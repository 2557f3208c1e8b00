"""`olm tree OPERATOR`: what belongs to an Operator, down to the objects of its bundle, with their health."""

from __future__ import annotations

from collections.abc import Iterator

from olmctl.commands import warn
from olmctl.operators.installation_output import report_left_installations
from olmctl.operators.output import Column, Indented, print_object, print_table
from olmctl.operators.session import on_cluster
from olmctl.questions.session import Session
from olmctl.questions.tree import Node
from olmctl.questions.tree import tree as tree_of

_COLUMNS = (Column("NAME"), Column("STATE", is_status=True), Column("MESSAGE", empty=""))


@on_cluster
async def tree(session: Session, operator: str, output: str | None) -> int:
    """Show what belongs to OPERATOR: its dependencies, its BundleDeployment, and the objects of the bundle with their health."""
    found = await tree_of(session, operator)
    report_left_installations([found.left] if found.left else ())
    for each in (*found.warnings, *found.problems):
        warn(each)
    if output:
        print_object(found.root.value(), output)
    else:
        print_table(_COLUMNS, _rows(found.root))
    return 0


def _rows(node: Node, first: str = "", others: str = "") -> Iterator[tuple[object, ...]]:
    """The rows of the table: `first` stands before this node, `others` before those below it."""
    place = f"{node.namespace}/" if node.namespace else ""
    yield Indented(first, f"{node.kind}/{place}{node.name}"), node.state, node.message
    for number, child in enumerate(node.children, 1):
        branch, rest = ("└── ", "    ") if number == len(node.children) else ("├── ", "│   ")
        yield from _rows(child, others + branch, others + rest)
