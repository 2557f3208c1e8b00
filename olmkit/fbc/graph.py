"""The upgrade graph of one channel, as opm judges it (formats 1.7). Called by olmkit.fbc.checks.model_checks and graph_text.
Pure.

The head is the entry that no other replaces or skips. From there the `replaces` lead down; they end at what is skipped, and at
what is no entry. Who is neither on the way nor skipped is stranded. skipRange plays no part. Time and memory are linear in the
entries: a chain may be a hundred thousand long.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from olmkit.fbc.catalog import Entry


def graph_error(entries: Mapping[str, Entry]) -> str:
    """What is wrong with the graph of these entries by their names, in opm's words; "" nothing. There must be an entry."""
    skipped = {skip for entry in entries.values() for skip in entry.skips}
    found = heads(entries)
    if not found:
        return "no channel head found in graph"
    if len(found) > 1:
        return f"multiple channel heads found in graph: {_list(found)}"
    way, cycle = _way(entries, found[0], skipped)
    if cycle:
        return f"detected cycle in replaces chain of upgrade graph: {' -> '.join(cycle)}"
    stranded = entries.keys() - way - skipped
    return f"channel contains one or more stranded bundles: {_list(stranded)}" if stranded else ""


def heads(entries: Mapping[str, Entry]) -> list[str]:
    """The entries that no other replaces or skips, in the order given: one, where the graph is as it should be."""
    skipped = {skip for entry in entries.values() for skip in entry.skips}
    replaced = {entry.replaces for entry in entries.values() if entry.replaces}
    return [name for name in entries if name not in skipped and name not in replaced]


def _way(entries: Mapping[str, Entry], head: str, skipped: set[str]) -> tuple[set[str], list[str]]:
    """The names met from the head down, the missing one at the tail included; and the cycle that they run into."""
    met = {head: 0}  # in the order they are met
    entry = entries.get(head)
    while entry is not None and entry.replaces not in skipped:
        below = entry.replaces
        if below in met:
            return set(met), [*list(met)[met[below] :], below]
        met[below] = len(met)
        entry = entries.get(below)
    return set(met), []


def _list(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
