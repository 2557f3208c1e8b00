"""Checks whether the controllers that are available also lead, and whether they are of one image.

Pods without a leader do nothing, whatever their probes say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from olmctl.questions.operator_state import text_at
from olmctl.suite.controllers import SUCCESSION_SECONDS, Controllers
from olmctl.suite.objects import DIFFERS, ObjectState
from olmctl.suite.watched import Watched
from olmkit.runtime.client import Client

COMPONENT_LABEL, CONTROLLER = "app.kubernetes.io/component", "controller"
"""The label of Deployments whose replicas have a leader; those of the web console have none."""
NO_LEADER = "no replica leads: none renews its lease"


async def with_leaders(
    client: Client,
    namespace: str,
    states: Sequence[ObjectState],
    show: Callable[[str], None],
    start_seconds: float = SUCCESSION_SECONDS,
) -> list[ObjectState]:
    """The states, those of available controllers with their leaders: it waits until each has renewed its Lease, or cannot any
    more. A Lease that nobody holds is acquired within `start_seconds`. `show` gets a text about each wait. Raises Unavailable."""
    names = [each.name for each in states if _is_available(each)]
    if not names:
        return list(states)
    async with Watched(client) as watched:
        controllers = await Controllers.open(client, namespace, watched)
        await controllers.find_stopped(names, show, start_seconds)
        leaders = {each.name: controllers.leader(each.name) for each in states}
    return [with_leader(each, leaders[each.name]) for each in states]


def _is_available(state: ObjectState) -> bool:
    is_controller = text_at(state.expected, "metadata", "labels", COMPONENT_LABEL) == CONTROLLER
    return is_controller and bool(state.version) and state.status in ("Available", DIFFERS)


def with_leader(state: ObjectState, leader: str) -> ObjectState:
    """The state of a controller with its leader: one that is available and does not lead is not good. Others stay as they are."""
    if not _is_available(state):
        return state
    if leader:
        return replace(state, leader=leader)
    message = "; ".join(filter(None, (NO_LEADER, state.message if not state.is_good else "")))
    return replace(state, status="NoLeader", is_good=False, message=message)


def with_image_differences(states: Sequence[ObjectState]) -> list[ObjectState]:
    """The states; a controller with another image than most is not good, and none is if there is no majority."""
    counts = Counter(each.image for each in states if each.image).most_common()
    if len(counts) < 2:
        return list(states)
    usual = counts[0][0] if counts[0][1] > counts[1][1] else ""
    return [_with_image(each) if each.image and each.image != usual else each for each in states]


def _with_image(state: ObjectState) -> ObjectState:
    if not state.is_good:
        return state
    text = f"its image {state.image} is not that of the other controllers: `olm suite install --image` gives them one"
    return replace(state, status=DIFFERS, is_good=False, message=text)
