"""What HasValidBundle reports while the Bundle cannot be created, or not be installed as spec says."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from olmkit.api.bundledeployments import Reason
from olmkit.api.conditions import find_condition
from olmkit.errors import Waiting
from rukpak.bundledeployment.cluster.transforms import bundle_info
from rukpak.bundledeployment.decide import decide
from rukpak.bundledeployment.plan import Done, Keep
from rukpak.bundledeployment.rendered_bundle import MissingContent
from rukpak.bundledeployment.report import report
from rukpak.bundledeployment.world import World
from rukpak.format import BadBundle
from tests.unit.rukpak.bundledeployment.worlds import (
    SECRET,
    installed,
    plan_of,
    raw,
    rendered,
    report_of,
    unpacked,
    world,
)


@pytest.mark.parametrize("provisioner", ["core-rukpak-io-helm", "core-rukpak-io-registry"])
def test_a_bundle_that_is_never_created_is_not_waited_for(provisioner: str) -> None:
    seen = world(raw(provisioner=provisioner))
    decision = decide(seen)
    assert isinstance(decision.plan, Exception)
    written = report(seen, decision.evaluation, decision.plan)
    assert written is not None
    found = find_condition(written.status.conditions, "HasValidBundle")
    stalled = find_condition(written.status.conditions, "Stalled")
    assert found is not None
    assert stalled is not None
    assert (found.status, found.reason, found.message) == ("False", "Blocked", stalled.message)
    assert "spec.provisionerClassName" in found.message


DESIRED = world().target_bundle
REQUIRES = rendered(SECRET, bundle=DESIRED, required_namespaces=frozenset({"port"}))


@pytest.mark.parametrize(
    ("active", "ready"),
    [
        pytest.param("", "False/Blocked watch less", id="nothing is installed"),
        pytest.param("b", f"False/Upgrading cannot upgrade to {DESIRED}: watch less", id="another bundle is installed"),
        pytest.param(DESIRED, "False/Blocked cannot repair: watch less", id="it is installed as spec said before"),
    ],
)
def test_a_bundle_that_cannot_be_installed_as_spec_says(active: str, ready: str) -> None:
    status = {"observedGeneration": 1, "activeBundle": active} if active else None
    seen = replace(unpacked(world(raw(status=status))), content=BadBundle("InvalidConfiguration", "watch less"))
    decision = decide(seen)
    written = report(seen, decision.evaluation, decision.plan if isinstance(decision.plan, Exception) else Done(Keep()))
    assert written is not None
    found = {one.type: f"{one.status}/{one.reason} {one.message}" for one in written.status.conditions}
    assert found["HasValidBundle"] == "False/InvalidConfiguration watch less"
    assert found["Installed"].startswith("True/InstallationSucceeded" if active else "False/InstallFailed watch less")
    assert found["Ready"] == ready
    assert "Stalled" in found


def test_a_webhook_that_does_not_answer_has_a_reason_of_its_own() -> None:
    """An installed Bundle was deleted, and is not created again yet."""
    waiting = Waiting(Reason.WAITING_FOR_WEBHOOK, "waiting for the webhook", timedelta(seconds=2))
    written = report_of(replace(installed(), bundles={}, content=MissingContent()), waiting).status.conditions
    found = {each.type: f"{each.status}/{each.reason}" for each in written}
    assert found["HasValidBundle"] == "False/UnpackPending"
    assert (found["Ready"], found["Reconciling"]) == ("False/WaitingForWebhook", "True/WaitingForWebhook")


@pytest.mark.parametrize(
    ("source", "reason", "ending"),
    [
        pytest.param("upload", "UnpackPending", ": `olm bundle upload a DIRECTORY` sends it", id="an upload"),
        pytest.param("upload", "Unpacking", "", id="an upload that is being unpacked"),
        pytest.param("image", "UnpackPending", "", id="the progress of an image is not repeated"),
    ],
)
def test_a_bundle_that_waits_for_an_upload_says_how_it_is_uploaded(source: str, reason: str, ending: str) -> None:
    seen = unpacked()
    unfinished = {"type": "Unpacked", "status": "False", "reason": reason, "message": ending.removeprefix(": ")}
    spec = {"provisionerClassName": "core-rukpak-io-plain", "source": {"type": source, source: {"ref": "r/a:v1"}}}
    status = {"conditions": [{**unfinished, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
    obj = {"metadata": {"name": seen.target_bundle, "uid": "u"}, "spec": spec, "status": status}
    known = seen.bundles[seen.target_bundle]
    info = replace(bundle_info(obj), labels=known.labels, annotations=known.annotations, spec={})
    seen = replace(seen, bundles={info.name: info}, content=MissingContent())
    decision = decide(seen)
    assert isinstance(decision.plan, Waiting)
    written = report(seen, decision.evaluation, decision.plan)
    assert written is not None
    found = {one.type: one.message for one in written.status.conditions}
    text = f"Waiting for the {seen.target_bundle} Bundle to be unpacked{ending}"
    assert (found["HasValidBundle"], found["Ready"], found["Reconciling"]) == (text, text, text)


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        pytest.param(
            unpacked(content=REQUIRES),
            {
                "HasValidBundle": "True/UnpackSuccessful",
                "Installed": "Unknown/InstallPending",
                "Healthy": "False/InstallationStatusFalse",
                "Ready": "False/WaitingForNamespace",
                "Reconciling": "True/WaitingForNamespace",
            },
            id="nothing is installed",
        ),
        pytest.param(
            replace(installed(), content=REQUIRES, namespaces={}),
            {
                "HasValidBundle": "True/UnpackSuccessful",
                "Installed": "True/InstallationSucceeded",
                "Healthy": "True/Healthy",
                "Ready": "False/WaitingForNamespace",
                "Reconciling": "True/WaitingForNamespace",
            },
            id="it was deleted under what is installed",
        ),
    ],
)
def test_a_bundle_is_valid_while_it_waits_for_a_namespace(seen: World, expected: dict[str, str]) -> None:
    with pytest.raises(Waiting) as caught:
        plan_of(seen)
    conditions = report_of(seen, caught.value).status.conditions
    assert {each.type: f"{each.status}/{each.reason}" for each in conditions} == expected
