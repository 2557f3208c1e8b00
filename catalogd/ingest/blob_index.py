"""The index of the blobs of a catalog: the byte range of each in its file, by schema, package and name.

Holds no blob and opens no file: it is given lengths and returns ranges. Results are in the order of the file.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import sub
from typing import Any

import orjson

from olmkit.fbc.schemas import PACKAGE

_Numbers = dict[int, "array[int]"]
ByteRange = tuple[int, int]
"""Offset and length in bytes."""


class BlobIndex:
    """The envelope and the byte range of every blob. Blobs are contiguous from the start of the file."""

    def __init__(self) -> None:
        self._texts: dict[str, int] = {"": 0}
        self._schema, self._package, self._name = array("L"), array("L"), array("L")
        self._start = array("Q", [0])
        self._by: tuple[_Numbers, _Numbers, _Numbers] | None = None

    def __len__(self) -> int:
        return len(self._schema)

    @property
    def size(self) -> int:
        """The number of bytes of all blobs."""
        return self._start[-1]

    def add(self, schema: str, package: str, name: str, length: int) -> int:
        """Add the next blob of the file. Returns its number, starting at 0."""
        number = len(self)
        self._schema.append(self._number(schema))
        self._package.append(self._number(package))
        self._name.append(self._number(name))
        self._start.append(self._start[-1] + length)
        self._by = None
        return number

    def find(self, schema: str = "", package: str = "", name: str = "") -> Sequence[int]:
        """The numbers of the blobs that match all arguments, in order; "" matches everything.

        The olm.package blob of a package belongs to it, although its envelope names no package (trap 14).
        """
        query = _Query(*(self._texts.get(text, -1) for text in (schema, package, name)))
        if -1 in (query.schema, query.package, query.name):
            return ()
        candidates = self._candidates(query)
        return candidates if candidates is not None else range(len(self))

    def envelopes(self) -> Iterator[tuple[str, str, str]]:
        """Schema, package and name of every blob, in order."""
        texts = list(self._texts)
        for schema, package, name in zip(self._schema, self._package, self._name, strict=True):
            yield texts[schema], texts[package], texts[name]

    def reordered(self, numbers: Iterable[int]) -> BlobIndex:
        """The index of a file that contains the blobs with these numbers, in this order; numbers may be repeated."""
        texts, other = list(self._texts), BlobIndex()
        for number in numbers:
            schema, package, name = (texts[column[number]] for column in (self._schema, self._package, self._name))
            other.add(schema, package, name, self.byte_range(number)[1])
        return other

    def byte_range(self, number: int) -> ByteRange:
        """The byte range of one blob."""
        return self._start[number], self._start[number + 1] - self._start[number]

    def byte_ranges(self, numbers: Iterable[int]) -> list[ByteRange]:
        """The byte ranges of blobs; adjacent ones are merged."""
        found: list[ByteRange] = []
        for number in numbers:
            start, length = self.byte_range(number)
            if found and sum(found[-1]) == start:
                found[-1] = (found[-1][0], found[-1][1] + length)
            else:
                found.append((start, length))
        return found

    def dump(self) -> bytes:
        """Encode as JSON: each string once, and per blob the numbers of its three strings and its length."""
        lengths = array("Q", map(sub, islice(self._start, 1, None), self._start))
        columns = {"schema": self._schema, "package": self._package, "name": self._name, "length": lengths}
        parts = [b'{"texts":', orjson.dumps(list(self._texts))]
        for key, column in columns.items():  # one at a time: a list of numbers takes five times the memory of the array
            parts += [f',"{key}":'.encode(), orjson.dumps(column.tolist())]
        return b"".join((*parts, b"}"))

    @classmethod
    def load(cls, data: bytes) -> BlobIndex:
        """Decode the output of dump()."""
        stored: dict[str, Any] = orjson.loads(data)
        index, texts = cls(), stored["texts"]
        for text in texts:
            index._number(text)
        for schema, package, name, length in zip(
            stored["schema"], stored["package"], stored["name"], stored["length"], strict=True
        ):
            index.add(texts[schema], texts[package], texts[name], length)
        return index

    def _lists(self) -> tuple[_Numbers, _Numbers, _Numbers]:
        """The numbers of blobs by schema, package and name. Built on first use, since writers do not query."""
        if self._by is None:
            self._by = _by_text(self._schema), _by_text(self._package), _by_text(self._name)
        return self._by

    def _number(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))

    def _candidates(self, query: _Query) -> list[int] | None:
        """The matches among the smallest list that contains all of them; None when the query is empty."""
        lists: list[Sequence[int]] = []
        by_schema, _, by_name = self._lists()
        if query.schema:
            lists.append(by_schema.get(query.schema, ()))
        if query.name:
            lists.append(by_name.get(query.name, ()))
        if query.package:
            lists.append(self._of_package(query.package))
        if not lists:
            return None
        return [number for number in min(lists, key=len) if self._matches(number, query)]

    def _of_package(self, package: int) -> array[int]:
        _, by_package, by_name = self._lists()
        own = [n for n in by_name.get(package, ()) if self._is_package_blob(n) and self._package[n] != package]
        return array("L", sorted([*own, *by_package.get(package, ())]))

    def _matches(self, number: int, query: _Query) -> bool:
        return (
            (not query.schema or self._schema[number] == query.schema)
            and (not query.name or self._name[number] == query.name)
            and (
                not query.package
                or self._package[number] == query.package
                or (self._name[number] == query.package and self._is_package_blob(number))
            )
        )

    def _is_package_blob(self, number: int) -> bool:
        return self._schema[number] == self._texts.get(PACKAGE, -1)


def _by_text(texts: Iterable[int]) -> _Numbers:
    found: dict[int, array[int]] = {}
    for number, text in enumerate(texts):
        numbers = found.get(text)
        if numbers is None:
            numbers = found[text] = array("L")
        numbers.append(number)
    return found


@dataclass(frozen=True, slots=True)
class _Query:
    """The numbers of the queried strings; 0 (the empty string) matches everything, -1 nothing."""

    schema: int
    package: int
    name: int
