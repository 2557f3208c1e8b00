"""A Kubernetes object of a bundle, and the key that identifies it.

Values share the body, so it is never changed: code that needs another body copies what differs. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import orjson


class ObjectKey(NamedTuple):
    """Identifies an object in every API version; namespace is empty for cluster-scoped objects. Ordered."""

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """The key as messages show it: `Deployment.apps ns/name`, `Namespace name`."""
        kind = f"{self.kind}.{self.group}" if self.group else self.kind
        return f"{kind} {self.namespace}/{self.name}" if self.namespace else f"{kind} {self.name}"


@dataclass(frozen=True)
class BundleObject:
    """One object to be applied, with apiVersion, kind and metadata.name."""

    body: Mapping[str, Any]

    @property
    def api_version(self) -> str:
        """`group/version`, or `version` for kinds of the core group."""
        version: str = self.body["apiVersion"]
        return version

    @property
    def group(self) -> str:
        """The API group; empty for the core group."""
        return group_of(self.api_version)

    @property
    def version(self) -> str:
        """The API version without the group."""
        return self.api_version.rpartition("/")[2]

    @property
    def kind(self) -> str:
        """The kind, such as Deployment."""
        kind: str = self.body["kind"]
        return kind

    @property
    def namespace(self) -> str:
        """metadata.namespace; empty when there is none."""
        return self.body["metadata"].get("namespace") or ""

    @property
    def name(self) -> str:
        """metadata.name; empty when there is none, which preflight refuses."""
        return self.body["metadata"].get("name") or ""

    @cached_property
    def key(self) -> ObjectKey:
        """The key of the object."""
        return ObjectKey(self.group, self.kind, self.namespace, self.name)


Item = TypeVar("Item")


def without_duplicates(items: Sequence[Item], manifest_of: Callable[[Item], BundleObject]) -> list[Item]:
    """The items without exact duplicates of an earlier object. Objects of one name that differ are kept."""
    count = Counter(manifest_of(item).key for item in items)
    kept: dict[tuple[ObjectKey, bytes], Item] = {}
    for number, item in enumerate(items):
        manifest = manifest_of(item)
        repeated = count[manifest.key] > 1
        text = orjson.dumps(manifest.body, option=orjson.OPT_SORT_KEYS) if repeated else b"%d" % number
        kept.setdefault((manifest.key, text), item)
    return list(kept.values())


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty mapping, for parts of objects whose types have not been checked."""
    return value if isinstance(value, Mapping) else {}


def mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    """The mappings in a list; none when the value is no list."""
    return (item for item in value if isinstance(item, Mapping)) if isinstance(value, list) else iter(())


def texts(value: Any) -> list[str]:
    """The texts of a list; none if it is no list."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def group_of(api_version: str) -> str:
    """The group of an apiVersion; empty for `v1`."""
    return api_version.rpartition("/")[0]
