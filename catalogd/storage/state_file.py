"""The state file, catalogs.json: what is served and retained. Also the format in which replicas exchange their records.

    {"format": 2, "catalogs": {name: record}, "kept": [{"catalog": name, "record": record, "until": seconds since 1970}]}

An invalid record is left out, and its Catalog is loaded again; a file of another format counts as empty. Opens no file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any

import orjson

from catalogd.storage.record import Record
from olmkit.api.names import is_digest

STATE_FORMAT = 2
_OTHER_FIELDS = ("resolved", "packages", "signed_by")
_TEXT_FIELDS = tuple(each.name for each in fields(Record) if each.name not in _OTHER_FIELDS)
_OPTIONAL_FIELDS: Mapping[str, Any] = {
    "uid": "",
    "access": "",
    "packages": None,
    "packages_changed": "",
    "signed_by": {},
}
"""Fields that the records of previous versions lack, with their defaults."""


@dataclass(frozen=True)
class RetainedRecord:
    """Replaced content of a Catalog. It is retained until `until`, in seconds since 1970."""

    catalog: str
    record: Record
    until: float


@dataclass(frozen=True)
class ServingState:
    """The content of a state file. `errors` are messages about what could not be read."""

    records: Mapping[str, Record] = field(default_factory=dict)
    retained: tuple[RetainedRecord, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def digests(self) -> set[str]:
        """The digests of all content that it names."""
        return {record.digest for record in (*self.records.values(), *(each.record for each in self.retained))}

    def without(self, name: str) -> ServingState:
        """A copy without this Catalog."""
        return self._filtered(lambda catalog, _: catalog != name)

    def without_content(self, digest: str) -> ServingState:
        """A copy without this content."""
        return self._filtered(lambda _, record: record.digest != digest)

    def _filtered(self, keep: Callable[[str, Record], bool]) -> ServingState:
        records = {name: record for name, record in self.records.items() if keep(name, record)}
        kept = tuple(each for each in self.retained if keep(each.catalog, each.record))
        return replace(self, records=records, retained=kept)


def record_from_json(value: Any) -> Record:
    """Decode a record. Raises ValueError, with a message, for anything else."""
    value = {**_OPTIONAL_FIELDS, **value} if isinstance(value, dict) else {}
    if value.keys() != {*_TEXT_FIELDS, *_OTHER_FIELDS}:
        raise ValueError("the record has another version")
    if not all(isinstance(value[name], str) for name in _TEXT_FIELDS) or not isinstance(value["resolved"], dict):
        raise ValueError("the record is invalid")
    signed_by = value["signed_by"]
    if not isinstance(signed_by, dict) or not all(isinstance(each, str) for each in signed_by.values()):
        raise ValueError("the record is invalid")
    if not is_digest(value["digest"]):
        raise ValueError("the record has no digest")
    datetime.fromisoformat(value["unpacked"])
    if value["packages_changed"]:
        datetime.fromisoformat(value["packages_changed"])
    return Record(**value | {"packages": _packages(value["packages"])})


def _packages(value: Any) -> tuple[str, ...] | None:
    """Raises ValueError."""
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError("the record is invalid")
    return tuple(value)


def dump(records: Mapping[str, Record], retained: Iterable[RetainedRecord] = ()) -> bytes:
    """Encode the state file."""
    kept = [{"catalog": each.catalog, "record": _to_json(each.record), "until": each.until} for each in retained]
    catalogs = {name: _to_json(record) for name, record in records.items()}
    state = {"format": STATE_FORMAT, "catalogs": catalogs, "kept": kept}
    return orjson.dumps(state, default=dict, option=orjson.OPT_SORT_KEYS)


def _to_json(record: Record) -> dict[str, Any]:
    """Without the fields that have their defaults: replicas of an earlier version do not know them all."""
    return {name: value for name, value in vars(record).items() if _OPTIONAL_FIELDS.get(name, ...) != value}


def parse(data: bytes) -> ServingState:
    """Decode the output of dump(), without what is invalid."""
    try:
        value = orjson.loads(data)
    except ValueError:
        return ServingState(errors=("it is truncated",))
    if not isinstance(value, dict) or value.get("format") != STATE_FORMAT:
        return ServingState(errors=("it has another format",))
    catalogs, kept = value.get("catalogs"), value.get("kept")
    if not isinstance(catalogs, dict) or not isinstance(kept, list):
        return ServingState(errors=("it has another format",))
    records: dict[str, Record] = {}
    errors: list[str] = []
    for name, each in catalogs.items():
        try:
            records[name] = record_from_json(each)
        except ValueError as error:
            errors.append(f"{name}: {error}")
    return ServingState(records, tuple(_retained(kept)), tuple(errors))


def _retained(values: list[Any]) -> Iterable[RetainedRecord]:
    """The valid entries; others are left out."""
    for each in values:
        match each:
            case {"catalog": str(name), "record": dict(value), "until": int() | float() as until}:
                try:
                    yield RetainedRecord(name, record_from_json(value), float(until))
                except ValueError:
                    continue
