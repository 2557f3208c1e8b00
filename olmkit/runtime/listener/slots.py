"""Selects the connection that is closed when more clients connect than there are connection slots: the rules, without any socket.

Every accepted connection takes a Slot. While slots are free, no client has a quota. When none is free, the new connection takes
the slot of another one, which is chosen in this order (docs/decisions/0017):

    1. of other peers (by address) that hold more than an equal share: one that yields, however young
    2. of any peer, or of its own peer only if that peer has its share already: one that yields
    3. of the peer with the most slots, if the new connection's peer has none or two fewer: the slowest response, else the oldest
       unfinished request
    4. as in 2: the oldest that has sent nothing

A connection yields if it has sent nothing, or its handshake or request header is unfinished (the oldest first; with TLS after a
grace period of a second, so that many concurrent handshakes can complete), if it is idle (the longest first), or if its client
reads slowly. If no connection yields, the new one is an overflow connection: it gets one of a few additional slots, in which its
request is answered with 503. Closes nothing itself: it calls `evict`. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

HANDSHAKE_GRACE_SECONDS = 1.0
"""The age up to which an unfinished handshake is kept while another slot can be taken."""


class SlotState(Enum):
    """The states of the connection of a slot."""

    NEW = "has sent nothing yet"
    RECEIVING = "the handshake or the request is unfinished"
    IDLE = "between two requests"
    RESPONDING_SLOWLY = "the client reads the response at less than the minimum rate"
    RESPONDING = "a request is being answered"


@dataclass(eq=False)
class Slot:
    """The slot of one connection, from its acceptance to its end. `evict` closes the connection; its owner sets it.

    `started` is when the connection was accepted, or its next request began. `send_rate` is the bytes per second that the client
    read of a response last; infinite while that is unknown.
    """

    address: str
    started: float
    is_overflow: bool = False
    state: SlotState = SlotState.NEW
    send_rate: float = math.inf
    evict: Callable[[], object] = lambda: None


@dataclass(eq=False)
class _Peer:
    """The slots of one address by state, each in the order in which they entered it."""

    slots: dict[SlotState, dict[Slot, None]] = field(default_factory=lambda: {state: {} for state in SlotState})

    @property
    def count(self) -> int:
        return sum(len(slots) for slots in self.slots.values())

    def first(self, state: SlotState) -> Slot | None:
        return next(iter(self.slots[state]), None)


class ConnectionSlots:
    """`limit` slots, and `overflow_limit` additional ones. Unfinished connections are kept for `grace` seconds."""

    def __init__(self, limit: int, overflow_limit: int, grace: float = HANDSHAKE_GRACE_SECONDS) -> None:
        self._limit = limit
        self._overflow_limit = overflow_limit
        self._grace = grace
        self._peers: dict[str, _Peer] = {}
        self._overflow: dict[Slot, None] = {}
        self._used = 0

    def acquire(self, address: str, now: float) -> Slot | None:
        """A slot for a connection that was just accepted, possibly that of another one; None: it must be closed."""
        slot = Slot(address, now)
        if self._used >= self._limit:
            victim = self._choose_victim(address, now)
            if victim is None:
                return self._acquire_overflow(slot, now)
            self._evict(victim)
        self._peers.setdefault(address, _Peer()).slots[slot.state][slot] = None
        self._used += 1
        return slot

    def _acquire_overflow(self, slot: Slot, now: float) -> Slot | None:
        if len(self._overflow) >= self._overflow_limit:
            unfinished = (each for each in self._overflow if _is_unfinished(each, now - self._grace))
            victim = next(unfinished, None)
            if victim is None:
                return None
            self._evict(victim)
        slot.is_overflow = True
        self._overflow[slot] = None
        return slot

    def set_state(self, slot: Slot, state: SlotState) -> None:
        """Record what the connection does now. A slot that was released stays released."""
        peer = self._peers.get(slot.address)
        if peer is not None and slot in peer.slots[slot.state]:
            del peer.slots[slot.state][slot]
            peer.slots[state][slot] = None
        slot.state = state

    def release(self, slot: Slot) -> None:
        """The connection is closed or closing. May be called more than once."""
        self._overflow.pop(slot, None)
        peer = self._peers.get(slot.address)
        if peer is None or slot not in peer.slots[slot.state]:
            return
        del peer.slots[slot.state][slot]
        self._used -= 1
        if not peer.count:
            del self._peers[slot.address]

    def _evict(self, slot: Slot) -> None:
        self.release(slot)
        slot.evict()

    def _choose_victim(self, address: str, now: float) -> Slot | None:
        peers = sorted(self._peers.values(), key=lambda peer: -peer.count)
        own = self._peers.get(address)
        share = self._limit // (len(peers) + (own is None))
        candidates = peers if own is None or own.count < share else [own]
        victims = (
            *(_yielding(peer, now) for peer in peers if peer is not own and peer.count > share),
            *(_yielding(peer, now - self._grace) for peer in candidates),
            _slowest(peers[0]) if own is None or peers[0].count > own.count + 1 else None,
            *(peer.first(SlotState.NEW) for peer in candidates),
        )
        return next((slot for slot in victims if slot), None)


def _yielding(peer: _Peer, until: float) -> Slot | None:
    """The connection that is closed with the least harm: new or unfinished since before `until`, idle, slow."""
    unfinished = (peer.first(SlotState.NEW), peer.first(SlotState.RECEIVING))
    found = next((slot for slot in unfinished if slot and slot.started <= until), None)
    return found or peer.first(SlotState.IDLE) or peer.first(SlotState.RESPONDING_SLOWLY)


def _slowest(peer: _Peer) -> Slot | None:
    """The slowest response, else the oldest unfinished request."""
    return min(
        peer.slots[SlotState.RESPONDING], key=lambda slot: slot.send_rate, default=peer.first(SlotState.RECEIVING)
    )


def _is_unfinished(slot: Slot, until: float) -> bool:
    """Report whether the connection is new, or has been unfinished since before `until`."""
    return slot.state is SlotState.NEW or (slot.state is SlotState.RECEIVING and slot.started <= until)
