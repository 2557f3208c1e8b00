"""The state file: what is written is read again, also by replicas of an earlier version."""

from __future__ import annotations

import json

import pytest

from catalogd.storage.record import Record
from catalogd.storage.state_file import RetainedRecord, dump, parse

PLAIN = Record("r:v1", "r@sha256", "sha256:" + "1" * 64, "2026-01-01T00:00:00Z")
OWNED = Record(*(PLAIN.ref, PLAIN.resolved_ref, PLAIN.digest, PLAIN.unpacked), uid="u", access="7")
LISTING = Record(*(PLAIN.ref, PLAIN.resolved_ref, PLAIN.digest, PLAIN.unpacked), packages=("a", "b"))
CHANGED = Record(
    *(PLAIN.ref, PLAIN.resolved_ref, PLAIN.digest, PLAIN.unpacked), packages_changed="2026-01-02T00:00:00Z"
)
BEFORE_LISTS = {"ref", "resolved_ref", "digest", "unpacked", "resolved", "validator", "uid", "access"}
"""The fields that versions without spec.packages know."""


@pytest.mark.parametrize("record", [PLAIN, OWNED, LISTING, CHANGED])
def test_what_is_written_is_read_again(record: Record) -> None:
    state = parse(dump({"c": record}, [RetainedRecord("c", record, 9.5)]))
    assert (state.records, state.retained, state.errors) == ({"c": record}, (RetainedRecord("c", record, 9.5),), ())


@pytest.mark.parametrize("record", [PLAIN, OWNED])
def test_the_record_of_a_catalog_without_a_list_has_no_field_that_earlier_versions_refuse(record: Record) -> None:
    state = json.loads(dump({"c": record}, [RetainedRecord("c", record, 9.5)]))
    assert state["catalogs"]["c"].keys() <= BEFORE_LISTS
    assert state["kept"][0]["record"].keys() <= BEFORE_LISTS
