"""Graphs of packages: what edges lead to from a package, which packages form a cycle, and the reverse of a graph.

Knows nothing of what an edge means. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

Graph = Mapping[str, Iterable[str]]
"""From a package to others. One without an entry has no edges."""


def reachable(graph: Graph, starts: Iterable[str]) -> list[str]:
    """The other packages that edges lead to from these, also indirectly, the nearest first."""
    first = dict.fromkeys(starts)
    queue = list(first)
    found = dict(first)
    for package in queue:  # the loop body appends to the queue
        for other in graph.get(package, ()):
            if other not in found:
                found[other] = None
                queue.append(other)
    return queue[len(first) :]


def reversed_graph(graph: Graph) -> dict[str, set[str]]:
    """The graph with all edges in the other direction."""
    found: dict[str, set[str]] = {}
    for start, ends in graph.items():
        for end in ends:
            found.setdefault(end, set()).add(start)
    return found


def strongly_connected(graph: Graph) -> dict[str, int]:
    """The number of the strongly connected component of each package, which all have an entry (Tarjan's algorithm, without
    recursion)."""
    found: dict[str, int] = {}
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    path: list[str] = []
    for root in sorted(graph):
        pending: list[tuple[str, Sequence[str]]] = [] if root in index else [(root, sorted(graph[root]))]
        while pending:
            package, others = pending.pop()
            if package not in index:
                index[package] = low[package] = len(index)
                path.append(package)
            unseen = next((number for number, other in enumerate(others) if other not in index), None)
            if unseen is not None:
                pending += [(package, others[unseen:]), (others[unseen], sorted(graph[others[unseen]]))]
                continue
            low[package] = min([low[package], *(low[other] for other in graph[package] if other not in found)])
            if low[package] == index[package]:
                found |= dict.fromkeys(path[path.index(package) :], len(found))
                del path[path.index(package) :]
    return found
