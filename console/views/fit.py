"""The requirements of a package that a cluster does not meet, and the namespaces in which it can work. Pure.

All of it is what the catalog states about the head of the default channel. What is not known excludes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from olmkit.gocompat.versions import BadVersion, parse_version

MAX_KINDS = 50
"""Kinds, or packages, of one list that are read."""
MODES = {
    "AllNamespaces": "all namespaces",
    "MultiNamespace": "several namespaces",
    "SingleNamespace": "one other namespace",
    "OwnNamespace": "the namespace that it is installed into",
}


@dataclass(frozen=True)
class Cluster:
    """The kinds, version and packages of the cluster, as far as packages ask for it."""

    version: str = ""
    kinds: frozenset[tuple[str, str]] = frozenset()
    """Group and kind of all that it serves."""
    versions: frozenset[tuple[str, str, str]] = frozenset()
    packages: frozenset[str] = frozenset()
    """The packages that Operators have installed."""
    is_known: bool = True
    away: frozenset[str] = frozenset()
    """Groups whose API server does not answer: their kinds are not known."""
    offered: frozenset[tuple[str, str]] = frozenset()
    """Group and kind of all that packages of the catalogs provide."""
    offered_packages: frozenset[str] | None = None
    """The packages of the catalogs; None if they are not known."""

    def with_offers(self, summaries: Mapping[str, Mapping[str, Any]]) -> Cluster:
        """The cluster with these packages, and the kinds that they provide."""
        kinds = frozenset((kind[0], kind[2]) for each in summaries.values() for kind in kinds_in(each, "kinds"))
        return replace(self, offered=kinds, offered_packages=frozenset(summaries))


def shortcomings(summary: Mapping[str, Any], cluster: Cluster) -> tuple[str, ...] | None:
    """The requirements that the cluster does not meet, in words; None if the summary or the cluster is not known."""
    if not summary or not cluster.is_known:
        return None
    found = []
    minimum = summary.get("minKubeVersion")
    if isinstance(minimum, str) and is_at_least(cluster.version, minimum) is False:
        found.append(f"Kubernetes {minimum}")
    found += [
        kind for group, version, kind in kinds_in(summary, "nativeAPIs") if not serves(cluster, group, version, kind)
    ]
    found += [
        kind
        for group, _, kind in kinds_in(summary, "requiredKinds")
        if not serves(cluster, group, "", kind) and (group, kind) not in cluster.offered
    ]
    if cluster.offered_packages is not None:
        found += [
            f"package {name}"
            for name in texts_in(summary, "requiredPackages")
            if name not in cluster.packages and name not in cluster.offered_packages
        ]
    return tuple(dict.fromkeys(found))


def serves(cluster: Cluster, group: str, version: str, kind: str) -> bool:
    """Report whether the cluster serves a kind, "" for any version, as far as that is known."""
    if group in cluster.away:
        return True
    return (group, version, kind) in cluster.versions if version else (group, kind) in cluster.kinds


def kinds_in(summary: Mapping[str, Any], key: str) -> list[tuple[str, str, str]]:
    """The kinds of a list of a summary, as group, version and kind."""
    split = (each.split("/", 2) for each in texts_in(summary, key))
    return [(parts[0], parts[1], parts[2]) for parts in split if len(parts) == 3 and parts[2]]


def texts_in(summary: Mapping[str, Any], key: str) -> list[str]:
    """The texts of a list of a summary."""
    listed = summary.get(key)
    return [each for each in listed[:MAX_KINDS] if isinstance(each, str)] if isinstance(listed, list) else []


def is_at_least(version: str, minimum: str) -> bool | None:
    """Report whether a version of Kubernetes is at least another one; None if one of them is none."""
    try:
        return parse_version(version.removeprefix("v").partition("-")[0].partition("+")[0]) >= parse_version(
            minimum.removeprefix("v")
        )
    except BadVersion:
        return None


def available_in(modes: Sequence[str]) -> str:
    """The supported install modes as a sentence; "" if none is known."""
    known = [MODES[each] for each in MODES if each in modes]
    if not known:
        return ""
    if known == [MODES["AllNamespaces"]]:
        return "All namespaces. It cannot be limited to some."
    if "AllNamespaces" not in modes:
        return f"Only {_or(known)}."
    return f"All namespaces, or {_or(known[1:])}."


def scope(modes: Sequence[str]) -> str:
    """The supported install modes in a few words, for a card; "" if none is known."""
    known = [each for each in MODES if each in modes]
    if not known:
        return ""
    if "AllNamespaces" in known:
        return "all namespaces" if len(known) == 1 else "all or some namespaces"
    return "its own namespace only" if known == ["OwnNamespace"] else "some namespaces only"


def _or(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"
