"""Which connection is closed when there are more connections than slots."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from olmkit.runtime.listener.slots import HANDSHAKE_GRACE_SECONDS, ConnectionSlots, Slot, SlotState

LIMIT, OVERFLOW_LIMIT = 6, 2
NOW = 100.0
NEW, RECEIVING, IDLE, SLOW, RESPONDING = (
    SlotState.NEW,
    SlotState.RECEIVING,
    SlotState.IDLE,
    SlotState.RESPONDING_SLOWLY,
    SlotState.RESPONDING,
)


@dataclass(frozen=True)
class Existing:
    """A connection that was accepted `age` seconds ago."""

    name: str
    address: str
    state: SlotState
    age: float = 10.0
    rate: float = 1_000_000.0


class Slots:
    """Slots, some of them in use; `gone` are the names of the evicted connections."""

    def __init__(self, *held: Existing, grace: float = HANDSHAKE_GRACE_SECONDS) -> None:
        self.slots = ConnectionSlots(LIMIT, OVERFLOW_LIMIT, grace)
        self.gone: list[str] = []
        for each in held:
            slot = self.acquire(each.name, each.address, NOW - each.age)
            assert slot is not None
            slot.send_rate = each.rate
            self.slots.set_state(slot, each.state)

    def acquire(self, name: str, address: str, now: float = NOW) -> Slot | None:
        slot = self.slots.acquire(address, now)
        if slot is not None:
            slot.evict = lambda: self.gone.append(name)
        return slot


def many(address: str, state: SlotState, count: int, age: float = 10.0) -> list[Existing]:
    return [Existing(f"{address}{number}", address, state, age) for number in range(count)]


@pytest.mark.parametrize(
    ("held", "newcomer", "gone"),
    [
        pytest.param(many("a", RESPONDING, 5), "a", [], id="while slots are free one peer may hold them all"),
        pytest.param(many("a", RECEIVING, 6), "b", ["a0"], id="the oldest unfinished of the greedy peer goes first"),
        pytest.param(many("a", RECEIVING, 6), "a", ["a0"], id="also for a newcomer behind the same address"),
        pytest.param(many("a", RECEIVING, 6, age=0.0), "b", ["a0"], id="however young, when its peer holds too many"),
        pytest.param(
            [*many("a", IDLE, 2), *(Existing(f"u{n}", "a", RECEIVING, 5.0) for n in range(4))],
            "b",
            ["u0"],
            id="an unfinished one goes before an idle one",
        ),
        pytest.param(
            [*many("a", RESPONDING, 4), Existing("i1", "a", IDLE), Existing("i2", "a", IDLE)],
            "b",
            ["i1"],
            id="the longest idle goes before any that is answered",
        ),
        pytest.param(
            [*many("a", RESPONDING, 5), Existing("s", "a", SLOW, rate=512.0)],
            "a",
            ["s"],
            id="a slow reader gives way to its own",
        ),
        pytest.param(
            [*many("a", RESPONDING, 4), Existing("h", "b", RECEIVING, 0.1), Existing("i", "c", RECEIVING, 0.2)],
            "d",
            ["a0"],
            id="a peer with too many answers loses one before the young handshakes of others",
        ),
        pytest.param(
            [*many("a", RESPONDING, 4), Existing("h", "b", RECEIVING, 2.0), Existing("i", "c", RESPONDING)],
            "d",
            ["h"],
            id="a slow handshake before a response",
        ),
        pytest.param(
            [*many("a", RESPONDING, 5), Existing("w", "a", RESPONDING, rate=20_000.0)],
            "b",
            ["w"],
            id="of the answers of the greedy peer the slowest goes",
        ),
        pytest.param(
            [*many("a", RESPONDING, 5), Existing("s", "b", NEW)],
            "a",
            [],
            id="a greedy peer evicts no connection of a modest one",
        ),
        pytest.param(
            [*many("a", RESPONDING, 5), Existing("s", "b", NEW, 0.1)],
            "b",
            ["a0"],
            id="a modest peer does not lose what has begun",
        ),
        pytest.param(many("a", RESPONDING, 6), "a", [], id="a peer does not cut its own answers"),
        pytest.param(
            [*many("a", RESPONDING, 3), *many("b", RESPONDING, 3)],
            "b",
            [],
            id="nor those of another that holds no more than it",
        ),
        pytest.param(
            [Existing(name, name, RESPONDING, rate=100_000.0 - number) for number, name in enumerate("abcdef")],
            "g",
            ["a"],
            id="a peer without a slot always gets one",
        ),
        pytest.param(
            [Existing(name, name, RECEIVING, 0.1) for name in "abcdef"],
            "a",
            [],
            id="a crowd of handshakes comes to its end",
        ),
        pytest.param(many("a", RECEIVING, 6, age=0.1), "a", [], id="also behind one address"),
        pytest.param(many("a", NEW, 6, age=0.1), "a", ["a0"], id="the oldest silent one at once"),
        pytest.param(
            [Existing("u", "a", RECEIVING, 20.0), *many("a", NEW, 5)], "b", ["a0"], id="silent before unfinished"
        ),
        pytest.param(
            [*many("a", RESPONDING, 3), Existing("s", "b", NEW, 2.0), *many("c", RESPONDING, 2)],
            "d",
            ["s"],
            id="a silent one goes before the answers of a peer with more than its share",
        ),
    ],
)
def test_which_connection_is_evicted(held: list[Existing], newcomer: str, gone: list[str]) -> None:
    slots = Slots(*held)
    slot = slots.acquire("new", newcomer)
    assert slot is not None
    assert slots.gone == gone
    assert slot.is_overflow is (len(held) == LIMIT and not gone)


def test_without_grace_the_oldest_unfinished_is_evicted_at_once() -> None:
    slots = Slots(*many("a", RECEIVING, LIMIT, age=0.1), grace=0.0)
    slot = slots.acquire("new", "a")
    assert slot is not None
    assert (slots.gone, slot.is_overflow) == (["a0"], False)


def test_a_released_slot_is_free() -> None:
    slots = Slots(*many("a", RESPONDING, LIMIT - 1))
    last = slots.acquire("last", "a")
    assert last is not None
    slots.slots.release(last)
    slots.slots.release(last)
    slots.slots.set_state(last, IDLE)
    following = slots.acquire("next", "a")
    assert following is not None
    assert not following.is_overflow
    one_more = slots.acquire("one more", "b")
    assert one_more is not None
    assert slots.gone == ["next"], "its handshake goes before what is answered"


def test_overflow_connections_are_limited_and_the_oldest_new_one_is_evicted() -> None:
    slots = Slots(*many("a", RESPONDING, LIMIT))
    taken = [slots.acquire(f"overflow{number}", "a") for number in range(OVERFLOW_LIMIT + 1)]
    assert [slot.is_overflow for slot in taken if slot] == [True] * (OVERFLOW_LIMIT + 1)
    assert slots.gone == ["overflow0"]
    for slot in taken:
        assert slot is not None
        slots.slots.set_state(slot, RESPONDING)
    assert slots.acquire("late", "a") is None
    assert slots.gone == ["overflow0"]
    assert taken[1] is not None
    slots.slots.release(taken[1])
    assert slots.acquire("later", "a") is not None
