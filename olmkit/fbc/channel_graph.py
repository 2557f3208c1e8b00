"""The upgrade graph of one channel, checked as opm does (formats 1.7).

The head is the entry that no other entry replaces or skips. The chain follows `replaces` from the head down; it ends at a skipped
name and at a name that is no entry. An entry that is neither on the chain nor skipped is stranded. skipRange is not used. Time
and memory are linear in the entries: a chain may have a hundred thousand of them. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from olmkit.fbc.catalog import Entry


def graph_error(entries: Mapping[str, Entry]) -> str:
    """opm's message for an invalid graph of these entries, by their names; "" when it is valid. There must be an entry."""
    skipped = {skip for entry in entries.values() for skip in entry.skips}
    found = heads(entries)
    if not found:
        return "no channel head found in graph"
    if len(found) > 1:
        return f"multiple channel heads found in graph: {_list(found)}"
    chain, cycle = _chain(entries, found[0], skipped)
    if cycle:
        return f"detected cycle in replaces chain of upgrade graph: {' -> '.join(cycle)}"
    stranded = entries.keys() - chain - skipped
    return f"channel contains one or more stranded bundles: {_list(stranded)}" if stranded else ""


def heads(entries: Mapping[str, Entry]) -> list[str]:
    """The entries that no other entry replaces or skips, in the order given. A valid graph has exactly one."""
    skipped = {skip for entry in entries.values() for skip in entry.skips}
    replaced = {entry.replaces for entry in entries.values() if entry.replaces}
    return [name for name in entries if name not in skipped and name not in replaced]


def _chain(entries: Mapping[str, Entry], head: str, skipped: set[str]) -> tuple[set[str], list[str]]:
    """The names from the head down, including the missing one at the tail; and the cycle that they lead into, or []."""
    places = {head: 0}  # in the order of the chain
    entry = entries.get(head)
    while entry is not None and entry.replaces not in skipped:
        below = entry.replaces
        if below in places:
            return set(places), [*list(places)[places[below] :], below]
        places[below] = len(places)
        entry = entries.get(below)
    return set(places), []


def _list(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
