"""The objects that two bundles do not have in common."""

from __future__ import annotations

from typing import Any

from olmctl.diff.objects import LAST_APPLIED, Change, object_changes
from rukpak.format.objects import BundleObject


def config(name: str, **data: str) -> BundleObject:
    return BundleObject({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})


def secret(values: dict[str, Any], **metadata: Any) -> BundleObject:
    return BundleObject({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login", **metadata}, **values})


def test_objects_are_added_changed_and_removed_in_this_order_and_equal_ones_left_out() -> None:
    old = [config("gone"), config("same", a="1"), config("other", a="1")]
    new = [config("other", a="2"), config("same", a="1"), config("fresh")]
    assert [(entry.key.name, entry.change) for entry in object_changes(old, new)] == [
        ("other", Change.CHANGED),
        ("fresh", Change.ADDED),
        ("gone", Change.REMOVED),
    ]


def test_an_added_object_has_no_old_body_and_a_removed_one_no_new_body() -> None:
    added, removed = object_changes([config("a")], [config("b")])
    assert (added.old, added.new) == (None, config("b").body)
    assert (removed.old, removed.new) == (config("a").body, None)


def test_no_value_of_a_secret_is_shown() -> None:
    old = secret({"data": {"user": "c2VjcmV0", "key": "c2VjcmV0"}, "type": "Opaque"})
    new = secret({"data": {"user": "c2VjcmV0", "key": "b3RoZXI="}, "stringData": {"more": "secret"}, "type": "Other"})
    (change,) = object_changes([old], [new])
    assert change.old is not None
    assert change.new is not None
    assert change.old["data"] == {"user": "***", "key": "*** (before)"}
    assert change.new["data"] == {"user": "***", "key": "*** (after)"}
    assert change.new["stringData"] == {"more": "*** (after)"}
    assert change.new["type"] == "Other"
    (added,) = object_changes([], [old])
    assert added.new is not None
    assert added.new["data"] == {"user": "***", "key": "***"}


def test_a_copy_of_the_secret_in_its_annotations_is_not_shown() -> None:
    annotations = {LAST_APPLIED: '{"data":{"key":"c2VjcmV0"}}', "a": "b"}
    (added,) = object_changes([], [secret({"data": {}}, annotations=annotations)])
    assert added.new is not None
    assert added.new["metadata"]["annotations"] == {LAST_APPLIED: "***", "a": "b"}
