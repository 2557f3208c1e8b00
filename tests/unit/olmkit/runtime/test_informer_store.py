"""The informer store: newer versions win, lists remove missing objects, no own write restores a deleted object."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.runtime.informer_store import Change, InformerStore, is_newer

Object = dict[str, Any]


def thing(name: str, version: int | str, uid: str = "", **data: str) -> Object:
    return {
        "metadata": {"name": name, "namespace": "space", "uid": uid or f"uid-{name}", "resourceVersion": str(version)},
        "data": data,
    }


def names(store: InformerStore) -> dict[str, str]:
    return {name: obj["metadata"]["resourceVersion"] for (_, name), obj in store.objects.items()}


@pytest.mark.parametrize(
    ("version", "than", "expected"),
    [
        pytest.param("10", "9", True, id="ten is newer than nine, as numbers"),
        pytest.param("9", "10", False, id="nine is not newer than ten"),
        pytest.param("9", "9", False, id="the same version is not newer"),
        pytest.param("b", "a", True, id="versions that are not numbers count as newer if they differ"),
        pytest.param("a", "a", False, id="the same text is not newer"),
    ],
)
def test_is_newer(version: str, than: str, expected: bool) -> None:
    assert is_newer(version, than) is expected


def test_an_event_returns_the_old_and_the_new_object() -> None:
    store = InformerStore()
    first, second = thing("a", 1), thing("a", 2)
    assert store.event("ADDED", first) == Change(None, first)
    assert store.event("MODIFIED", second) == Change(first, second)
    assert store.event("DELETED", thing("a", 3)) == Change(second, None)
    assert names(store) == {}


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        pytest.param(("MODIFIED", thing("a", 4)), {"a": "5"}, id="an older event is ignored"),
        pytest.param(("MODIFIED", thing("a", 5)), {"a": "5"}, id="the same version is ignored"),
        pytest.param(("DELETED", thing("b", 6)), {"a": "5"}, id="the deletion of an unknown object is ignored"),
        pytest.param(("DELETED", thing("a", 6)), {}, id="a deletion removes the object"),
        pytest.param(
            ("DELETED", thing("a", 4, uid="before")),
            {"a": "5"},
            id="the late deletion of an earlier object of that name is ignored",
        ),
    ],
)
def test_events_after_an_own_write(event: tuple[str, Object], expected: dict[str, str]) -> None:
    store = InformerStore()
    store.record_write(thing("a", 5))
    change = store.event(*event)
    assert names(store) == expected
    assert (change is None) == (expected == {"a": "5"})


def test_an_own_write_is_told_from_those_of_others() -> None:
    store = InformerStore()
    first, second, third = (thing("a", version) for version in (1, 2, 3))
    assert store.record_write(first) == Change(None, first, is_own_write=True)
    assert store.event("MODIFIED", first) is None
    assert store.event("MODIFIED", second) == Change(first, second)
    assert store.record_write(third) == Change(second, third, is_own_write=True)


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        pytest.param(thing("a", 7), {}, id="the response to a write that was concurrent with the deletion"),
        pytest.param(thing("a", 9, uid="next"), {"a": "9"}, id="a new object of the same name"),
        pytest.param(thing("a", 9), {"a": "9"}, id="the same object, which matches the selector again"),
    ],
)
def test_an_own_write_after_a_deletion(own: Object, expected: dict[str, str]) -> None:
    store = InformerStore()
    store.event("ADDED", thing("a", 5))
    store.event("DELETED", thing("a", 8))
    store.record_write(own)
    assert names(store) == expected


def test_an_object_that_matches_the_selector_again_is_known_again() -> None:
    store = InformerStore()
    store.event("ADDED", thing("a", 5))
    store.event("DELETED", thing("a", 6))
    assert store.event("ADDED", thing("a", 6)) is None
    back = thing("a", 7)
    assert store.event("ADDED", back) == Change(None, back)
    assert store.event("DELETED", thing("a", 6)) is None, "the event of a deletion that its return overtook"


def test_an_own_deletion_counts_at_once_and_late_events_do_not_undo_it() -> None:
    store = InformerStore()
    store.event("ADDED", thing("a", 5))
    assert store.record_deletion(("space", "a"), "another uid") is None
    assert store.record_deletion(("space", "a"), "uid-a") == Change(thing("a", 5), None)
    assert store.event("MODIFIED", thing("a", 6)) is None
    assert list(store.replace([thing("a", 6)], "6")) == []
    assert store.event("DELETED", thing("a", 7)) is None
    assert names(store) == {}


def test_a_restored_backup_restores_deleted_objects() -> None:
    store = InformerStore()
    store.event("ADDED", thing("a", 50))
    store.event("DELETED", thing("a", 60))
    assert len(list(store.replace([thing("a", 40)], "45", rewound=True))) == 1
    assert store.event("MODIFIED", thing("a", 46)) is not None
    assert names(store) == {"a": "46"}


def test_a_list_removes_missing_objects() -> None:
    store = InformerStore()
    a, b = thing("a", 1), thing("b", 2)
    store.event("ADDED", a)
    store.event("ADDED", b)
    newer = thing("b", 8)
    assert list(store.replace([newer], "9")) == [Change(b, newer), Change(a, None)]
    store.record_write(thing("a", 5))
    assert names(store) == {"b": "8"}, "a late own write does not restore an object that a list removed"


def test_a_list_keeps_objects_written_after_it_was_read() -> None:
    store = InformerStore()
    store.record_write(thing("new", 12))
    store.record_write(thing("changed", 13))
    assert list(store.replace([thing("changed", 4)], "10")) == []
    assert names(store) == {"new": "12", "changed": "13"}


def test_a_list_of_a_restored_backup_counts_although_its_versions_are_lower() -> None:
    store = InformerStore()
    store.event("ADDED", thing("a", 90))
    store.event("ADDED", thing("b", 91))
    changes = list(store.replace([thing("a", 40)], "50", rewound=True))
    assert names(store) == {"a": "40"}
    assert len(changes) == 2


def test_an_object_recreated_with_its_name_is_a_change() -> None:
    store = InformerStore()
    old, new = thing("a", 1, uid="one"), thing("a", 5, uid="two")
    store.event("ADDED", old)
    assert list(store.replace([new], "6")) == [Change(old, new)]
    assert store.record_write(thing("a", 9, uid="one")) is None


def test_an_index_follows_its_objects() -> None:
    store = InformerStore()
    store.event("ADDED", thing("early", 1, owner="x"))
    store.add_index("owner", lambda obj: [obj["data"]["owner"]])
    store.event("ADDED", thing("late", 2, owner="x"))
    assert [obj["metadata"]["name"] for obj in store.by_index("owner", "x")] == ["early", "late"]
    store.event("MODIFIED", thing("early", 3, owner="y"))
    assert [obj["metadata"]["name"] for obj in store.by_index("owner", "x")] == ["late"]
    list(store.clear())
    assert store.by_index("owner", "x") == []
    assert store.by_index("owner", "y") == []


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[tuple[str, Object]], dict[str, str]]:
    """The events of a server in order, each with the next version; and the objects that exist in the end."""
    events: list[tuple[str, Object]] = []
    there: dict[str, Object] = {}
    uids: dict[str, str] = {}
    """Of objects that do not match the selector any more."""
    for version in range(1, draw(st.integers(1, 25))):
        name = draw(st.sampled_from("abc"))
        if name not in there:
            there[name] = thing(name, version, uid=uids.pop(name, f"{name}-{version}"))
            events.append(("ADDED", there[name]))
        elif draw(st.booleans()):
            there[name] = thing(name, version, uid=there[name]["metadata"]["uid"])
            events.append(("MODIFIED", there[name]))
        else:
            uid = there.pop(name)["metadata"]["uid"]
            uids |= {name: uid} if draw(st.booleans()) else {}
            events.append(("DELETED", thing(name, version, uid=uid)))
    return events, {name: obj["metadata"]["resourceVersion"] for name, obj in there.items()}


@given(history=histories(), data=st.data())
def test_late_responses_to_own_writes_never_change_the_result(
    history: tuple[list[tuple[str, Object]], dict[str, str]], data: st.DataObject
) -> None:
    """Responses to writes arrive before, between and after their events; the changes are always consecutive."""
    events, truth = history
    store = InformerStore()
    writes = [(index, obj) for index, (kind, obj) in enumerate(events) if kind != "DELETED"]
    received = data.draw(st.lists(st.sampled_from(writes), max_size=10)) if writes else []
    at = [(data.draw(st.integers(max(0, index - 3), len(events))), obj) for index, obj in received]
    view: dict[str, Object] = {}

    def apply(change: Change | None) -> None:
        if change is None:
            return
        some = change.new or change.old
        assert some is not None
        name = some["metadata"]["name"]
        assert view.get(name) == change.old
        view.pop(name, None)
        if change.new is not None:
            view[name] = change.new

    for index, (kind, obj) in enumerate(events):
        for _, own in [entry for entry in at if entry[0] == index]:
            apply(store.record_write(own))
        apply(store.event(kind, obj))
    for _, own in [entry for entry in at if entry[0] == len(events)]:
        apply(store.record_write(own))
    assert names(store) == truth
    assert {name: obj["metadata"]["resourceVersion"] for name, obj in view.items()} == truth


@given(history=histories(), data=st.data())
def test_a_list_corrects_missed_events(
    history: tuple[list[tuple[str, Object]], dict[str, str]], data: st.DataObject
) -> None:
    """Events are lost from some point until a list; after it the store equals the server."""
    events, truth = history
    lost_from = data.draw(st.integers(0, len(events)))
    listed_at = data.draw(st.integers(lost_from, len(events)))
    store, server = InformerStore(), InformerStore()
    for index, (kind, obj) in enumerate(events):
        server.event(kind, obj)
        if index < lost_from:
            store.event(kind, obj)
        if index + 1 == listed_at:
            list(store.replace(server.objects.values(), obj["metadata"]["resourceVersion"]))
        if index + 1 > listed_at:
            store.event(kind, obj)
    if listed_at or lost_from == 0:
        assert names(store) == truth
