"""What the status of a BundleDeployment says about workloads that are not healthy."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from olmkit.api.bundledeployments import Reason
from olmkit.errors import Waiting
from rukpak.bundledeployment.health.health_result import Health
from rukpak.bundledeployment.health.pod_problems import Explanation
from rukpak.bundledeployment.plan import Done, Keep
from rukpak.bundledeployment.world import World
from rukpak.format.objects import ObjectKey
from tests.unit.rukpak.bundledeployment.worlds import SECRET, WORKLOAD, installed, report_of, unwell

ROLLOUT = Health("Unknown", "0 of 1 replicas are available")
SCALING = Health("Unknown", "1 of 3 replicas are available", timedelta(minutes=10), is_serving=True)


def ready_before(seen: World) -> World:
    """The status says Ready for this generation."""
    before = report_of(installed(), Done(Keep())).status
    deployment = seen.deployment.model_copy(update={"status": before})
    return replace(seen, deployment=deployment)


def without(seen: World, key: ObjectKey) -> World:
    """The object does not exist."""
    return replace(seen, labeled={known: entry for known, entry in seen.labeled.items() if known != key})


def test_scaling_leaves_it_ready_while_other_replicas_serve() -> None:
    status = report_of(ready_before(unwell(SCALING)), Done(Keep())).status
    found = {each.type: (each.status, each.reason, each.message) for each in status.conditions}
    text = f"{WORKLOAD}: 1 of 3 replicas are available"
    assert found["Healthy"] == ("Unknown", "Progressing", text)
    assert found["Ready"] == ("True", "Succeeded", f"Instantiated bundle {status.active_bundle} successfully; {text}")
    assert not {"Reconciling", "Stalled"} & found.keys()


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(unwell(SCALING), id="it was not Ready"),
        pytest.param(ready_before(unwell(SCALING._replace(is_serving=False))), id="no replica serves"),
        pytest.param(ready_before(without(unwell(SCALING), SECRET)), id="another object is missing"),
    ],
)
def test_what_does_not_serve_is_not_ready(seen: World) -> None:
    found = {each.type: each.status for each in report_of(seen, Done(Keep())).status.conditions}
    assert (found["Ready"], found.get("Reconciling")) == ("False", "True")


def test_pods_say_why_their_workload_is_not_healthy() -> None:
    seen = replace(unwell(ROLLOUT), pod_problems={WORKLOAD: Explanation("pod x: crashes", "")})
    healthy = next(each for each in report_of(seen, Done(Keep())).status.conditions if each.type == "Healthy")
    assert healthy.message == f"{WORKLOAD}: {ROLLOUT.message} (pod x: crashes)"


def test_a_kind_that_only_an_earlier_bundle_had_is_not_health() -> None:
    """Its objects cannot be read, so they are not removed; those of the bundle that is installed are known."""
    cups = frozenset({("example.com", "Cup")})
    outcome = Waiting(Reason.OBJECT_LOOKUP_FAILURE, "cannot be read now: Cup.example.com", timedelta(minutes=1))
    status = report_of(replace(installed(), unsynced=cups, unreachable_kinds=cups), outcome).status
    found = {each.type: (each.status, each.reason, each.message) for each in status.conditions}
    assert found["Healthy"][:2] == ("True", "Healthy")
    assert found["Ready"] == ("True", "Succeeded", outcome.message)
    assert found["Reconciling"] == ("True", "Retrying", outcome.message)
