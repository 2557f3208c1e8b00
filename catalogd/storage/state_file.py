"""The note of what is served, as JSON: catalogs.json of catalogd.storage.catalog_store, and what replicas tell each other.

    {"format": 2, "catalogs": {name: record}, "kept": [{"catalog": name, "record": record, "until": seconds since 1970}]}

What cannot be read costs only itself: a note of another format is empty, a record of another version is left out, and its
Catalog is read again. Values only: opens no file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any

import orjson

from catalogd.storage.record import Record
from olmkit.api.names import is_digest

FORMAT = 2
_TEXTS = tuple(each.name for each in fields(Record) if each.name != "resolved")
_LATER = {"uid": "", "access": ""}
"""What records of the version before lack: they say of nobody that its source has answered."""


@dataclass(frozen=True)
class RetainedRecord:
    """What a Catalog served before; `until` is by the clock of the machine, seconds since 1970."""

    catalog: str
    record: Record
    until: float


@dataclass(frozen=True)
class ServingState:
    """What is noted; `faults` say what could not be read of it."""

    records: Mapping[str, Record] = field(default_factory=dict)
    retained: tuple[RetainedRecord, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def digests(self) -> set[str]:
        """All content that it names."""
        return {record.digest for record in (*self.records.values(), *(each.record for each in self.retained))}

    def without(self, name: str) -> ServingState:
        """The same without that Catalog."""
        return self._filtered(lambda catalog, _: catalog != name)

    def without_content(self, digest: str) -> ServingState:
        """The same without that content."""
        return self._filtered(lambda _, record: record.digest != digest)

    def _filtered(self, keep: Callable[[str, Record], bool]) -> ServingState:
        records = {name: record for name, record in self.records.items() if keep(name, record)}
        kept = tuple(each for each in self.retained if keep(each.catalog, each.record))
        return replace(self, records=records, retained=kept)


def record_from_json(value: Any) -> Record:
    """A record of a note. Raises ValueError, with a sentence, for anything else."""
    value = _LATER | value if isinstance(value, dict) else {}
    if value.keys() != {*_TEXTS, "resolved"}:
        raise ValueError("the record is of another version")
    if not all(isinstance(value[name], str) for name in _TEXTS) or not isinstance(value["resolved"], dict):
        raise ValueError("the record is no record")
    if not is_digest(value["digest"]):
        raise ValueError("the record names no digest")
    datetime.fromisoformat(value["unpacked"])
    return Record(**value)


def dump(records: Mapping[str, Record], kept: Iterable[RetainedRecord] = ()) -> bytes:
    """The note."""
    before = [{"catalog": each.catalog, "record": each.record, "until": each.until} for each in kept]
    note = {"format": FORMAT, "catalogs": dict(records), "kept": before}
    return orjson.dumps(note, default=dict, option=orjson.OPT_SORT_KEYS)


def parse(data: bytes) -> ServingState:
    """What dump() gave, as far as it can be read."""
    try:
        value = orjson.loads(data)
    except ValueError:
        return ServingState(errors=("it is torn",))
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        return ServingState(errors=("it is of another format",))
    catalogs, kept = value.get("catalogs"), value.get("kept")
    if not isinstance(catalogs, dict) or not isinstance(kept, list):
        return ServingState(errors=("it is of another format",))
    records: dict[str, Record] = {}
    faults: list[str] = []
    for name, each in catalogs.items():
        try:
            records[name] = record_from_json(each)
        except ValueError as error:
            faults.append(f"{name}: {error}")
    return ServingState(records, tuple(_kept(kept)), tuple(faults))


def _kept(values: list[Any]) -> Iterable[RetainedRecord]:
    """What cannot be read is not kept any longer, and not missed."""
    for each in values:
        match each:
            case {"catalog": str(name), "record": dict(value), "until": int() | float() as until}:
                try:
                    yield RetainedRecord(name, record_from_json(value), float(until))
                except ValueError:
                    continue
