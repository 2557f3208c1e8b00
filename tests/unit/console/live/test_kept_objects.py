"""What is kept of the objects that sessions follow, and for how long."""

from __future__ import annotations

import copy
import sys

import orjson

from console.live import kept_objects
from console.live.kept_objects import PACKED, Packed, Values, own, pack, shared


def test_sessions_that_have_received_the_same_keep_it_once_and_no_longer_than_they_need_it() -> None:
    obj = {"metadata": {"name": "a", "managedFields": ["x" * 500]}, "spec": {"text": "y" * 600}}
    one, two = (pack(copy.deepcopy(obj))[PACKED] for _ in range(2))
    other = pack({**obj, "spec": {"text": "z" * 600}})[PACKED]
    assert one is two
    assert orjson.loads(one.raw) == {"metadata": {"name": "a"}, "spec": {"text": "y" * 600}}
    assert orjson.loads(other.raw)["spec"] == {"text": "z" * 600}
    assert sys.getsizeof(one.raw) < 700
    before = len(kept_objects._shared)
    del one, two
    assert len(kept_objects._shared) == before - 1


def test_lists_share_an_object_and_a_caller_that_gets_one_owns_it() -> None:
    kept = pack({"metadata": {"name": "a"}, "spec": {"text": "y"}})
    assert shared(kept) is shared(kept)
    assert own(kept) == shared(kept)
    assert own(kept) is not own(kept)


def test_values_are_bounded_by_their_length_and_end_with_their_json() -> None:
    values = Values(max_bytes=100)
    packed = [Packed(orjson.dumps({"number": number, "text": "x" * 10})) for number in range(20)]
    for each in packed:
        values.get(each)
    assert sum(len(each.raw) for each in values._kept) <= 100
    assert packed[-1] in values._kept
    packed.clear()
    del each
    assert len(values._kept) == 0
