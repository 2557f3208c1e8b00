"""Rules of RBAC as values: which permissions they give, and the shortest rules that give certain permissions.

    Rule    a rule of a Role, as its author wrote it
    Right   one verb on one resource, on all of its objects or one: what the API server is asked about

Values only. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

EVERYTHING = "*"


class Right(NamedTuple):
    """One verb on one resource, or on one path of the API server."""

    namespace: str
    """Empty: in the whole cluster."""
    group: str
    resource: str
    """With its subresource; empty for a path."""
    name: str
    """The only object; empty: all."""
    verb: str
    path: str = ""

    def attributes(self) -> dict[str, dict[str, str]]:
        """The part of the spec of a review that asks for it."""
        if self.path:
            return {"nonResourceAttributes": {"path": self.path, "verb": self.verb}}
        resource, _, subresource = self.resource.partition("/")
        asked = {
            "namespace": self.namespace,
            "verb": self.verb,
            "group": self.group,
            "resource": resource,
            "subresource": subresource,
            "name": self.name,
        }
        return {"resourceAttributes": {name: value for name, value in asked.items() if value or name == "group"}}


@dataclass(frozen=True)
class Rule:
    """A rule of RBAC."""

    verbs: tuple[str, ...]
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """The only objects; empty: all."""
    paths: tuple[str, ...] = ()

    @classmethod
    def load(cls, raw: Mapping[str, Any]) -> Rule:
        """A rule as in a Role or in a SelfSubjectRulesReview; what is no list of texts counts as empty."""
        fields = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
        return cls(*(_texts(raw.get(name)) for name in fields))

    def body(self) -> dict[str, list[str]]:
        """The rule as in a Role."""
        fields = {
            "apiGroups": self.groups,
            "resources": self.resources,
            "resourceNames": self.names,
            "nonResourceURLs": self.paths,
            "verbs": self.verbs,
        }
        return {name: list(values) for name, values in fields.items() if values}

    def rights(self, namespace: str) -> Iterator[Right]:
        """All that the rule gives in a namespace; empty: in the whole cluster."""
        for verb in self.verbs:
            for group in self.groups:
                for resource in self.resources:
                    yield from (Right(namespace, group, resource, name, verb) for name in self.names or ("",))
            yield from (Right("", "", "", "", verb, path) for path in self.paths)

    def covers(self, right: Right) -> bool:
        """Report whether the rule gives the right, where it holds; by the comparison of the API server, that keeps accounts from
        giving more than they have."""
        if not _has(self.verbs, right.verb):
            return False
        if right.path:
            return any(_is_below(right.path, path) for path in self.paths)
        is_named = not self.names or right.name in self.names
        return _has(self.groups, right.group) and self._has_resource(right.resource) and is_named

    def _has_resource(self, resource: str) -> bool:
        _, slash, subresource = resource.partition("/")
        return _has(self.resources, resource) or (bool(slash) and f"{EVERYTHING}/{subresource}" in self.resources)


EVERY_RULE = (Rule((EVERYTHING,), (EVERYTHING,), (EVERYTHING,)), Rule((EVERYTHING,), paths=(EVERYTHING,)))
"""The rules of cluster-admin."""


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list | tuple) else ()


def _has(values: Iterable[str], wanted: str) -> bool:
    return any(value in (EVERYTHING, wanted) for value in values)


def _is_below(path: str, granted: str) -> bool:
    if granted.endswith(EVERYTHING):
        return path.rstrip(EVERYTHING).startswith(granted.rstrip(EVERYTHING))
    return path == granted


class PlacedRule(NamedTuple):
    """A rule, and where it holds."""

    namespace: str
    """Empty: in the whole cluster."""
    rule: Rule


def placed_in(rights: Iterable[Right], *, absent: Collection[str]) -> frozenset[Right]:
    """The rights as they can be given: those in an absent namespace, which can have no Role, in the whole cluster."""
    return frozenset(each._replace(namespace="") if each.namespace in absent else each for each in rights)


def compact(rights: Iterable[Right]) -> list[PlacedRule]:
    """The rules that give these rights, sorted: the verbs, names, and resources that are given together are in one rule."""
    verbs: dict[tuple[str, str, str, str, str], set[str]] = defaultdict(set)
    for each in rights:
        verbs[each.namespace, each.group, each.resource, each.name, each.path].add(each.verb)
    names: dict[tuple[str, str, str, tuple[str, ...], str], set[str]] = defaultdict(set)
    for (namespace, group, resource, name, path), known in verbs.items():
        is_one = "" if name else EVERYTHING
        names[namespace, group, resource, (is_one, *sorted(known)), path].add(name)
    resources: dict[tuple[str, str, tuple[str, ...], tuple[str, ...]], set[str]] = defaultdict(set)
    paths: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for (namespace, group, resource, (_, *known_verbs), path), found in names.items():
        if path:
            paths[tuple(known_verbs)].add(path)
        else:
            resources[namespace, group, tuple(known_verbs), tuple(sorted(found - {""}))].add(resource)
    rules = [
        PlacedRule(namespace, Rule(known, (group,), tuple(sorted(found)), named))
        for (namespace, group, known, named), found in sorted(resources.items())
    ]
    return rules + [PlacedRule("", Rule(known, paths=tuple(sorted(found)))) for known, found in sorted(paths.items())]
