"""The objects that sessions follow, in memory once for all sessions that have received the same.

They are kept as JSON, and those that lists were made of last as values too, which all these lists share. Nobody gets an object
that they have not received themselves.
"""

from __future__ import annotations

import hashlib
from weakref import WeakKeyDictionary, WeakValueDictionary

import orjson

from olmkit.api.meta import Object

PACKED = "packed"
MAX_VALUE_BYTES = 4 * 1024 * 1024
"""The JSON of the objects that are kept as values, which take five times as much."""


class Packed:
    """The JSON of an object."""

    __slots__ = ("__weakref__", "raw")

    def __init__(self, raw: bytes) -> None:
        self.raw = bytes(memoryview(raw))
        """A copy: orjson's own bytes keep the buffer in which they were written, four times as large."""

    def parse(self) -> Object:
        """The object, which the caller owns."""
        found: Object = orjson.loads(self.raw)
        return found


class Values:
    """Objects by their JSON, the last ones that were asked for. None is kept longer than its JSON."""

    def __init__(self, max_bytes: int = MAX_VALUE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._kept: WeakKeyDictionary[Packed, Object] = WeakKeyDictionary()

    def get(self, packed: Packed) -> Object:
        """The object, which nobody may change: others have the same."""
        found = self._kept.get(packed)
        if found is None:
            found = self._kept[packed] = packed.parse()
            self._bytes += len(packed.raw)
            if self._bytes > self._max_bytes:
                self._make_room()
        return found

    def _make_room(self) -> None:
        """Drop the oldest until a quarter is free. Those whose JSON is gone are counted only until then."""
        self._bytes = sum(len(each.raw) for each in self._kept)
        for packed in list(self._kept):
            if self._bytes <= self._max_bytes * 3 // 4:
                return
            del self._kept[packed]
            self._bytes -= len(packed.raw)


_shared: WeakValueDictionary[bytes, Packed] = WeakValueDictionary()
"""The objects that sessions keep, by a digest."""
_values = Values()


def pack(obj: Object) -> Object:
    """A `transform` for informers: the object as JSON without managedFields, a fifth of the memory that it takes otherwise."""
    metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    raw = orjson.dumps({**obj, "metadata": metadata})
    key = hashlib.blake2b(raw, digest_size=16).digest()
    found = _shared.get(key)
    if found is None:
        found = _shared[key] = Packed(raw)
    return {"metadata": {}, PACKED: found}


def name_alone(_: Object) -> Object:
    """A `transform` for informers: what identifies the object, which always remains."""
    return {"metadata": {}}


def own(obj: Object) -> Object:
    """The object that an informer keeps, for a caller that may change it."""
    return obj[PACKED].parse() if PACKED in obj else obj


def shared(obj: Object) -> Object:
    """The object that an informer keeps: the same one for all who keep it, which nobody may change."""
    return _values.get(obj[PACKED]) if PACKED in obj else obj
