"""Who keeps a place when there are more connections than places."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from olmkit.runtime.listener.slots import HANDSHAKE_GRACE_SECONDS, ConnectionSlots, Slot, SlotState

LIMIT, RESERVE = 6, 2
NOW = 100.0
SILENT, UNFINISHED, IDLE, SLOW, BUSY = (
    SlotState.NEW,
    SlotState.RECEIVING,
    SlotState.IDLE,
    SlotState.RESPONDING_SLOWLY,
    SlotState.RESPONDING,
)


@dataclass(frozen=True)
class Held:
    """A connection that is there, `age` seconds after it was accepted."""

    name: str
    address: str
    state: SlotState
    age: float = 10.0
    rate: float = 1_000_000.0


class Room:
    """Places, some of them taken; `gone` are the names of those that lost theirs."""

    def __init__(self, *held: Held, patience: float = HANDSHAKE_GRACE_SECONDS) -> None:
        self.places = ConnectionSlots(LIMIT, RESERVE, patience)
        self.gone: list[str] = []
        for each in held:
            place = self.take(each.name, each.address, NOW - each.age)
            assert place is not None
            place.send_rate = each.rate
            self.places.set_state(place, each.state)

    def take(self, name: str, address: str, now: float = NOW) -> Slot | None:
        place = self.places.acquire(address, now)
        if place is not None:
            place.evict = lambda: self.gone.append(name)
        return place


def many(address: str, state: SlotState, count: int, age: float = 10.0) -> list[Held]:
    return [Held(f"{address}{number}", address, state, age) for number in range(count)]


@pytest.mark.parametrize(
    ("held", "newcomer", "gone"),
    [
        pytest.param(many("a", BUSY, 5), "a", [], id="while places are free one peer may hold them all"),
        pytest.param(many("a", UNFINISHED, 6), "b", ["a0"], id="the oldest unfinished of the greedy peer goes first"),
        pytest.param(many("a", UNFINISHED, 6), "a", ["a0"], id="also for a newcomer behind the same address"),
        pytest.param(many("a", UNFINISHED, 6, age=0.0), "b", ["a0"], id="however young, when its peer holds too many"),
        pytest.param(
            [*many("a", IDLE, 2), *(Held(f"u{n}", "a", UNFINISHED, 5.0) for n in range(4))],
            "b",
            ["u0"],
            id="an unfinished one goes before an idle one",
        ),
        pytest.param(
            [*many("a", BUSY, 4), Held("i1", "a", IDLE), Held("i2", "a", IDLE)],
            "b",
            ["i1"],
            id="the longest idle goes before any that is answered",
        ),
        pytest.param(
            [*many("a", BUSY, 5), Held("s", "a", SLOW, rate=512.0)], "a", ["s"], id="a slow reader gives way to its own"
        ),
        pytest.param(
            [*many("a", BUSY, 4), Held("h", "b", UNFINISHED, 0.1), Held("i", "c", UNFINISHED, 0.2)],
            "d",
            ["a0"],
            id="a peer with too many answers loses one before the young handshakes of others",
        ),
        pytest.param(
            [*many("a", BUSY, 4), Held("h", "b", UNFINISHED, 2.0), Held("i", "c", BUSY)],
            "d",
            ["h"],
            id="a handshake that takes long goes before an answer",
        ),
        pytest.param(
            [*many("a", BUSY, 5), Held("w", "a", BUSY, rate=20_000.0)],
            "b",
            ["w"],
            id="of the answers of the greedy peer the slowest goes",
        ),
        pytest.param(
            [*many("a", BUSY, 5), Held("s", "b", SILENT)], "a", [], id="a greedy peer takes nothing from a modest one"
        ),
        pytest.param(
            [*many("a", BUSY, 5), Held("s", "b", SILENT, 0.1)],
            "b",
            ["a0"],
            id="a modest peer does not lose what has begun",
        ),
        pytest.param(many("a", BUSY, 6), "a", [], id="a peer does not cut its own answers"),
        pytest.param(
            [*many("a", BUSY, 3), *many("b", BUSY, 3)], "b", [], id="nor those of another that holds no more than it"
        ),
        pytest.param(
            [Held(name, name, BUSY, rate=100_000.0 - number) for number, name in enumerate("abcdef")],
            "g",
            ["a"],
            id="a peer without a place always gets one",
        ),
        pytest.param(
            [Held(name, name, UNFINISHED, 0.1) for name in "abcdef"],
            "a",
            [],
            id="a crowd of handshakes comes to its end",
        ),
        pytest.param(many("a", UNFINISHED, 6, age=0.1), "a", [], id="also behind one address"),
        pytest.param(
            many("a", SILENT, 6, age=0.1), "a", ["a0"], id="of those that say nothing the oldest goes at once"
        ),
        pytest.param(
            [Held("u", "a", UNFINISHED, 20.0), *many("a", SILENT, 5)], "b", ["a0"], id="silent before unfinished"
        ),
        pytest.param(
            [*many("a", BUSY, 3), Held("s", "b", SILENT, 2.0), *many("c", BUSY, 2)],
            "d",
            ["s"],
            id="a silent one goes before the answers of a peer with more than its share",
        ),
    ],
)
def test_who_gives_way(held: list[Held], newcomer: str, gone: list[str]) -> None:
    room = Room(*held)
    place = room.take("new", newcomer)
    assert place is not None
    assert room.gone == gone
    assert place.is_overflow is (len(held) == LIMIT and not gone)


def test_without_patience_the_oldest_unfinished_goes_at_once() -> None:
    room = Room(*many("a", UNFINISHED, LIMIT, age=0.1), patience=0.0)
    place = room.take("new", "a")
    assert place is not None
    assert (room.gone, place.is_overflow) == (["a0"], False)


def test_a_place_that_is_given_back_is_free() -> None:
    room = Room(*many("a", BUSY, LIMIT - 1))
    last = room.take("last", "a")
    assert last is not None
    room.places.release(last)
    room.places.release(last)
    room.places.set_state(last, IDLE)
    following = room.take("next", "a")
    assert following is not None
    assert not following.is_overflow
    one_more = room.take("one more", "b")
    assert one_more is not None
    assert room.gone == ["next"], "its handshake goes before what is answered"


def test_surplus_connections_are_few_and_the_oldest_that_says_nothing_goes() -> None:
    room = Room(*many("a", BUSY, LIMIT))
    taken = [room.take(f"surplus{number}", "a") for number in range(RESERVE + 1)]
    assert [place.is_overflow for place in taken if place] == [True] * (RESERVE + 1)
    assert room.gone == ["surplus0"]
    for place in taken:
        assert place is not None
        room.places.set_state(place, BUSY)
    assert room.take("late", "a") is None
    assert room.gone == ["surplus0"]
    assert taken[1] is not None
    room.places.release(taken[1])
    assert room.take("later", "a") is not None
