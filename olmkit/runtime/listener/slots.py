"""Who keeps a place when connections are more than places: the rules, without a socket.

Every accepted connection takes a Place. While places are free, nobody has a quota. When none is free, the newcomer takes the
place of another connection, chosen in this order (docs/decisions/0017):

    1. of other peers (by address) with more than an equal share: one that gives way, however young
    2. of any peer, of its own alone for a newcomer whose peer has its share: one that gives way
    3. of the peer with the most places, if the newcomer's has none, or two fewer: the slowest answer, the oldest unfinished
    4. as 2: the oldest that has said nothing

What gives way: one that has said nothing or whose handshake or head is unfinished (the oldest; with TLS after a second: a crowd
of handshakes shall come to its end), the longest idle, a slow reader. Without any of them the connection is surplus: it may say
what it wants, in one of a few more places. Called by olmkit.runtime.listener.connections. Closes nothing itself: it calls
`evict`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

HANDSHAKE_GRACE_SECONDS = 1.0
"""A handshake that is younger than this is spared while another place can be had."""


class SlotState(Enum):
    """What a connection does with its place."""

    NEW = "has said nothing yet"
    RECEIVING = "its handshake or its request has not come to an end"
    IDLE = "between two requests"
    RESPONDING_SLOWLY = "takes its answer at less than the least rate"
    RESPONDING = "a request is being answered"


@dataclass(eq=False)
class Slot:
    """What one connection holds, from its acceptance to its end. `evict`, set by who took it, ends the connection.

    `since`: when it was accepted, or began its next request. `rate`: bytes per second that it last took of an answer; infinite
    while that is not known.
    """

    address: str
    started: float
    is_overflow: bool = False
    state: SlotState = SlotState.NEW
    send_rate: float = math.inf
    evict: Callable[[], object] = lambda: None


@dataclass(eq=False)
class _Peer:
    """The places of one address, each state in the order in which they came to it."""

    slots: dict[SlotState, dict[Slot, None]] = field(default_factory=lambda: {state: {} for state in SlotState})

    @property
    def count(self) -> int:
        return sum(len(places) for places in self.slots.values())

    def first(self, state: SlotState) -> Slot | None:
        return next(iter(self.slots[state]), None)


class ConnectionSlots:
    """`limit` places, and `reserve` more for surplus connections. What is unfinished is spared for `patience` seconds."""

    def __init__(self, limit: int, reserve: int, patience: float = HANDSHAKE_GRACE_SECONDS) -> None:
        self._limit = limit
        self._reserve = reserve
        self._patience = patience
        self._peers: dict[str, _Peer] = {}
        self._surplus: dict[Slot, None] = {}
        self._taken = 0

    def acquire(self, address: str, now: float) -> Slot | None:
        """A place for a connection that was just accepted, perhaps that of another one; None: it has to go."""
        place = Slot(address, now)
        if self._taken >= self._limit:
            victim = self._victim(address, now)
            if victim is None:
                return self._take_surplus(place, now)
            self._end(victim)
        self._peers.setdefault(address, _Peer()).slots[place.state][place] = None
        self._taken += 1
        return place

    def _take_surplus(self, place: Slot, now: float) -> Slot | None:
        if len(self._surplus) >= self._reserve:
            waiting = (each for each in self._surplus if _is_waited_for(each, now - self._patience))
            victim = next(waiting, None)
            if victim is None:
                return None
            self._end(victim)
        place.is_overflow = True
        self._surplus[place] = None
        return place

    def set_state(self, place: Slot, state: SlotState) -> None:
        """The connection does something else now; one that has given its place back does nothing here."""
        peer = self._peers.get(place.address)
        if peer is not None and place in peer.slots[place.state]:
            del peer.slots[place.state][place]
            peer.slots[state][place] = None
        place.state = state

    def release(self, place: Slot) -> None:
        """The connection has ended, or has begun to; may be called again."""
        self._surplus.pop(place, None)
        peer = self._peers.get(place.address)
        if peer is None or place not in peer.slots[place.state]:
            return
        del peer.slots[place.state][place]
        self._taken -= 1
        if not peer.count:
            del self._peers[place.address]

    def _end(self, place: Slot) -> None:
        self.release(place)
        place.evict()

    def _victim(self, address: str, now: float) -> Slot | None:
        peers = sorted(self._peers.values(), key=lambda peer: -peer.count)
        own = self._peers.get(address)
        share = self._limit // (len(peers) + (own is None))
        asked = peers if own is None or own.count < share else [own]
        giving_way = (
            *(_giving_way(peer, now) for peer in peers if peer is not own and peer.count > share),
            *(_giving_way(peer, now - self._patience) for peer in asked),
            _answered(peers[0]) if own is None or peers[0].count > own.count + 1 else None,
            *(peer.first(SlotState.NEW) for peer in asked),
        )
        return next((place for place in giving_way if place), None)


def _giving_way(peer: _Peer, until: float) -> Slot | None:
    """What is lost with the least harm: silent or unfinished since before `until`, idle, slow."""
    waited_for = (peer.first(SlotState.NEW), peer.first(SlotState.RECEIVING))
    found = next((place for place in waited_for if place and place.started <= until), None)
    return found or peer.first(SlotState.IDLE) or peer.first(SlotState.RESPONDING_SLOWLY)


def _answered(peer: _Peer) -> Slot | None:
    """The slowest answer, else the oldest unfinished."""
    return min(peer.slots[SlotState.RESPONDING], key=lambda place: place.rate, default=peer.first(SlotState.RECEIVING))


def _is_waited_for(place: Slot, until: float) -> bool:
    """Whether it is silent, or has been unfinished since before `until`."""
    return place.state is SlotState.NEW or (place.state is SlotState.RECEIVING and place.started <= until)
