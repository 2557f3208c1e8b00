"""What counts as a loss when an object is created again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from olmkit.api.bundledeployment_status import Loss
from rukpak.bundledeployment.apply.repairs import losses, repairs
from rukpak.bundledeployment.plan import Apply, Done, ObjectChange, Verb
from rukpak.bundledeployment.rendered_bundle import RenderedBundle
from rukpak.bundledeployment.world import NAMESPACE, World
from rukpak.format.objects import ObjectKey
from tests.unit.rukpak.bundledeployment.worlds import installed

NAME = "ship-system"
KEY = ObjectKey(*NAMESPACE, "", NAME)


def created(verb: Verb, key: ObjectKey = KEY) -> Done:
    content = installed().content
    assert isinstance(content, RenderedBundle)
    return Done(Apply(content, (), dry_run_first=False), changes=(ObjectChange(key, verb, "why"),))


def without(name: str) -> World:
    seen = installed()
    return replace(seen, namespaces={key: info for key, info in seen.namespaces.items() if key != name})


@pytest.mark.parametrize(
    ("seen", "done", "lost"),
    [
        pytest.param(without(NAME), created(Verb.RECREATED), [NAME], id="what this process had applied"),
        pytest.param(without(NAME), created(Verb.CREATED), [NAME], id="what an earlier process had applied"),
        pytest.param(installed(), created(Verb.CREATED), [], id="what was there and is taken over"),
        pytest.param(without(NAME), created(Verb.CHANGED), [], id="what was changed"),
        pytest.param(
            without(NAME),
            created(Verb.CREATED, ObjectKey(*NAMESPACE, "", "other")),
            [],
            id="what the bundle did not have",
        ),
    ],
)
def test_what_is_a_loss(seen: World, done: Done, lost: list[str]) -> None:
    found = losses(seen, done) or []
    assert [loss.name for loss in found] == lost
    events = {event.reason: event.message for event in repairs(seen, done)}
    assert events.get("DataLost", "") == "; ".join(loss.sentence for loss in found)


def test_a_loss_stays_until_spec_changes() -> None:
    seen, loss = installed(), Loss(kind="Namespace", name="old")
    status = seen.deployment.status.model_copy(update={"losses": [loss], "observed_generation": 1})

    def at(generation: int) -> World:
        metadata = seen.deployment.metadata.model_copy(update={"generation": generation})
        return replace(seen, deployment=seen.deployment.model_copy(update={"status": status, "metadata": metadata}))

    assert losses(at(1), created(Verb.CHANGED)) == [loss]
    assert losses(at(2), created(Verb.CHANGED)) is None
