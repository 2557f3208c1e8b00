"""The objects that an informer knows, with indexes, and which of two versions of an object is newer.

Pure: takes lists, events and writes of this process and returns what changed.

    list     replaces the known objects; an object that is missing is deleted, unless it was written after the list was read
    event    counts if it is newer than the known version
    write    of this process: counts if it is newer and the uid is not known to be deleted

An object that stops matching the selector of an informer is deleted for it, and may come back in a later version.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from olmkit.api.meta import Object

ObjectName = tuple[str, str]
"""(namespace, name); the namespace is "" for cluster-scoped objects."""

FINALLY = ""
"""In place of a resourceVersion: after any."""
MAX_DELETED_UIDS = 4096
"""Deleted uids that are remembered: the response to a write arrives within seconds of a concurrent deletion."""


@dataclass(frozen=True)
class Change:
    """An object before and after: old None when it is new, new None when it is deleted."""

    old: Object | None
    new: Object | None
    is_own_write: bool = False
    """True if it is known from the response to a write of this process. An event of the watch may come before that response."""


def object_name(obj: Object) -> ObjectName:
    """(namespace, name) of an object."""
    metadata = obj["metadata"]
    return metadata.get("namespace") or "", metadata["name"]


def _uid(obj: Object) -> str:
    return str(obj["metadata"].get("uid", ""))


def _version(obj: Object) -> str:
    return str(obj["metadata"]["resourceVersion"])


def is_newer(version: str, than: str) -> bool:
    """Report whether one resourceVersion is later than another; versions that are not numbers count as later if they differ."""
    if version.isdecimal() and than.isdecimal():
        return int(version) > int(than)
    return version != than


class _Index:
    def __init__(self, keys: Callable[[Object], Iterable[str]]) -> None:
        self.keys = keys
        self.names: dict[str, dict[ObjectName, None]] = {}

    def move(self, name: ObjectName, old: Object | None, new: Object | None) -> None:
        before = set(self.keys(old)) if old is not None else set()
        after = set(self.keys(new)) if new is not None else set()
        for key in before - after:
            self.names[key].pop(name, None)
            if not self.names[key]:
                del self.names[key]
        for key in after - before:
            self.names.setdefault(key, {})[name] = None


class InformerStore:
    """The objects of one informer."""

    def __init__(self) -> None:
        self.objects: dict[ObjectName, Object] = {}
        self._indexes: dict[str, _Index] = {}
        self._deleted_uids: OrderedDict[str, str] = OrderedDict()
        """uid -> the resourceVersion up to which the object is known to be deleted; FINALLY if it cannot come back."""

    def add_index(self, name: str, keys: Callable[[Object], Iterable[str]]) -> None:
        """Index the objects by the keys that `keys` returns for them."""
        index = self._indexes[name] = _Index(keys)
        for known, obj in self.objects.items():
            index.move(known, None, obj)

    def by_index(self, name: str, key: str) -> list[Object]:
        """The objects with `key` in an index, by name."""
        return [self.objects[known] for known in sorted(self._indexes[name].names.get(key, ()))]

    def event(self, kind: str, obj: Object) -> Change | None:
        """Take an ADDED, MODIFIED or DELETED event of the watch; None if nothing changed."""
        if kind == "DELETED":
            return self._remove_event(obj)
        known = self.objects.get(object_name(obj))
        if self._is_deleted(obj) or (known is not None and not is_newer(_version(obj), _version(known))):
            return None
        return self._put(obj)

    def record_write(self, obj: Object) -> Change | None:
        """Take the response to a write of this process; None if it is older than the known version or the object is deleted."""
        change = self.event("MODIFIED", obj)
        return None if change is None else replace(change, is_own_write=True)

    def record_deletion(self, name: ObjectName, uid: str) -> Change | None:
        """Take a completed deletion of this process; None if nothing changed."""
        self._record_deleted_uid(uid, FINALLY)
        known = self.objects.get(name)
        return self._remove(name, known, FINALLY) if known is not None and _uid(known) == uid else None

    def replace(self, objects: Iterable[Object], version: str, *, rewound: bool = False) -> Iterator[Change]:
        """Take a full list that was read at `version`; yields each change as it is made.

        With `rewound` (versions went back: a restored backup) the list counts, whatever its versions are.
        """
        listed: set[ObjectName] = set()
        for obj in objects:
            listed.add(object_name(obj))
            change = self._put(obj) if rewound and self._differs(obj) else self.event("MODIFIED", obj)
            if change is not None:
                yield change
        for name, known in list(self.objects.items()):
            if name not in listed and (rewound or not is_newer(_version(known), version)):
                yield self._remove(name, known, version)

    def clear(self) -> Iterator[Change]:
        """Remove everything; yields each change as it is made."""
        for name, known in list(self.objects.items()):
            yield self._remove(name, known, _version(known))

    def _differs(self, obj: Object) -> bool:
        known = self.objects.get(object_name(obj))
        return known is None or _version(known) != _version(obj)

    def _remove_event(self, obj: Object) -> Change | None:
        name = object_name(obj)
        self._record_deleted_uid(_uid(obj), _version(obj))
        known = self.objects.get(name)
        if known is None or is_newer(_version(known), _version(obj)):
            return None
        return self._remove(name, known, _version(obj))

    def _put(self, obj: Object) -> Change:
        name = object_name(obj)
        known = self.objects.get(name)
        if known is not None and _uid(known) != _uid(obj):
            self._record_deleted_uid(_uid(known), FINALLY)
        self._deleted_uids.pop(_uid(obj), None)  # a restored backup restores deleted objects
        self.objects[name] = obj
        for index in self._indexes.values():
            index.move(name, known, obj)
        return Change(known, obj)

    def _is_deleted(self, obj: Object) -> bool:
        version = self._deleted_uids.get(_uid(obj))
        return version is not None and (version == FINALLY or not is_newer(_version(obj), version))

    def _remove(self, name: ObjectName, known: Object, version: str) -> Change:
        self._record_deleted_uid(_uid(known), version)
        del self.objects[name]
        for index in self._indexes.values():
            index.move(name, known, None)
        return Change(known, None)

    def _record_deleted_uid(self, uid: str, version: str) -> None:
        if uid:
            is_final = self._deleted_uids.get(uid) == FINALLY
            self._deleted_uids[uid] = FINALLY if is_final else version
            self._deleted_uids.move_to_end(uid)
            while len(self._deleted_uids) > MAX_DELETED_UIDS:
                self._deleted_uids.popitem(last=False)
