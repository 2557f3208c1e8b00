"""A Kubernetes object on its way into a cluster, and the key that names it. Used by every pure part of rukpak. Pure.

The body is shared between values and is never changed: whoever needs another one makes a copy of what differs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import orjson


class ObjectKey(NamedTuple):
    """What names an object whatever version it is written in; namespace is empty for cluster-scoped ones. Ordered."""

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """As people write it: `Deployment.apps ns/name`, `Namespace name`."""
        kind = f"{self.kind}.{self.group}" if self.group else self.kind
        return f"{kind} {self.namespace}/{self.name}" if self.namespace else f"{kind} {self.name}"


@dataclass(frozen=True)
class BundleObject:
    """One object as it is to be applied: apiVersion, kind and metadata.name are there."""

    body: Mapping[str, Any]

    @property
    def api_version(self) -> str:
        """`group/version`, or `version` for core kinds."""
        version: str = self.body["apiVersion"]
        return version

    @property
    def group(self) -> str:
        """Empty for core kinds."""
        return group_of(self.api_version)

    @property
    def version(self) -> str:
        """Without the group."""
        return self.api_version.rpartition("/")[2]

    @property
    def kind(self) -> str:
        """CamelCase singular."""
        kind: str = self.body["kind"]
        return kind

    @property
    def namespace(self) -> str:
        """Empty when there is none."""
        return self.body["metadata"].get("namespace") or ""

    @property
    def name(self) -> str:
        """metadata.name; empty when the object has none, which preflight refuses."""
        return self.body["metadata"].get("name") or ""

    @cached_property
    def key(self) -> ObjectKey:
        """Group, kind, namespace, name."""
        return ObjectKey(self.group, self.kind, self.namespace, self.name)


Item = TypeVar("Item")


def unrepeated(items: Sequence[Item], manifest_of: Callable[[Item], BundleObject]) -> list[Item]:
    """The items without those whose object is there already, the same in everything. Objects of one name that differ stay."""
    count = Counter(manifest_of(item).key for item in items)
    kept: dict[tuple[ObjectKey, bytes], Item] = {}
    for number, item in enumerate(items):
        manifest = manifest_of(item)
        repeated = count[manifest.key] > 1
        text = orjson.dumps(manifest.body, option=orjson.OPT_SORT_KEYS) if repeated else b"%d" % number
        kept.setdefault((manifest.key, text), item)
    return list(kept.values())


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty one: what a part of an object is that its author wrote as something else."""
    return value if isinstance(value, Mapping) else {}


def mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    """The mappings in a list; nothing when it is no list."""
    return (item for item in value if isinstance(item, Mapping)) if isinstance(value, list) else iter(())


def group_of(api_version: str) -> str:
    """The group of an apiVersion; empty for `v1`."""
    return api_version.rpartition("/")[0]
