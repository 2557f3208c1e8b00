"""An upgrade applies a CustomResourceDefinition twice if something of it has to stay until its webhook can be called."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from olmkit.api.customresourcedefinitions import Conversion
from olmkit.errors import Waiting
from rukpak.bundledeployment.apply.install import apply_objects
from rukpak.bundledeployment.crd_upgrade.held_definitions import held_body, with_held_definitions
from rukpak.bundledeployment.drift import next_applied
from rukpak.bundledeployment.evaluate import evaluate
from rukpak.bundledeployment.health.health_result import Health
from rukpak.bundledeployment.plan import Apply
from rukpak.bundledeployment.rendered_bundle import RenderedBundle, RenderedObject
from rukpak.bundledeployment.world import World
from rukpak.crds.conversion_order import Held, Versions
from rukpak.render.endpoints import CertificateMode, Endpoint
from rukpak.render.phases import ADMISSION, CRDS
from tests.unit.rukpak.bundledeployment.worlds import (
    DEFINITION,
    ENTRY,
    NOW,
    WORKLOAD,
    crd,
    member,
    rendered,
    upgrading,
)

OLD = Conversion("Webhook", "ship-system", "old-service", "/convert", 443)
NEW = OLD._replace(service="engine-service")
BOTH = ("v1", "v2")


def endpoint(certificates: CertificateMode = CertificateMode.CERT_MANAGER) -> Endpoint:
    return Endpoint(WORKLOAD.name, WORKLOAD.namespace, certificates, (), frozenset({DEFINITION}))


def moving(**facts: Any) -> World:
    """An upgrade moves the webhook, and stores another version."""
    seen = upgrading()
    content = rendered(digest="v2", bundle=seen.target_bundle, endpoints=(endpoint(),))
    wanted = Versions(BOTH, BOTH, "v2", NEW)
    phases = tuple(
        replace(
            phase,
            objects=tuple(replace(item, versions=wanted) if item.key == DEFINITION else item for item in phase.objects),
        )
        for phase in content.phases
    )
    live = crd(served_versions=BOTH, stored_versions=("v1",), **{"conversion": OLD, **facts})
    seen = replace(seen, crds={DEFINITION.name: live})
    return replace(seen, content=with_held_definitions(seen, replace(content, phases=phases)))


def content_of(seen: World) -> RenderedBundle:
    assert isinstance(seen.content, RenderedBundle)
    return seen.content


def forms(seen: World) -> dict[str, RenderedObject]:
    """The forms of the definition, by the phase."""
    return {phase.name: item for phase in content_of(seen).phases for item in phase.objects if item.key == DEFINITION}


def having_applied(seen: World, *, but: str = "") -> World:
    """All is applied as the bundle has it now, but the objects of one phase."""
    items = [item for phase in content_of(seen).phases if phase.name != but for item in phase.objects]
    notes = {item.key: next_applied(None, item.digest, ENTRY, NOW) for item in items}
    return replace(seen, last_applied=notes)


def test_both_forms_are_applied_one_with_the_definitions_and_one_with_the_webhooks() -> None:
    found = forms(moving())
    assert found[CRDS].held == Held("v1", OLD)
    assert (found[ADMISSION].held, found[ADMISSION].is_deferred) == (Held(), True)
    assert found[CRDS].digest != found[ADMISSION].digest == "v2"
    assert [phase.name for phase in content_of(moving()).phases].index(ADMISSION) == 5


@pytest.mark.parametrize(
    ("seen", "why"),
    [
        pytest.param(
            replace(having_applied(moving(), but=ADMISSION), endpoint_problems={WORKLOAD.name: "no pod is ready"}),
            "no pod is ready",
            id="its webhook cannot be called",
        ),
        pytest.param(
            replace(having_applied(moving(), but=ADMISSION), endpoint_problems={WORKLOAD.name: ""}),
            f"the pods of Deployment {WORKLOAD.name} are being replaced",
            id="pods of the version before are there",
        ),
    ],
)
def test_the_new_conversion_waits(seen: World, why: str) -> None:
    rolling = member(WORKLOAD, health=Health("Unknown", "1 old replicas are pending termination"))
    seen = replace(seen, labeled={**seen.labeled, WORKLOAD: rolling})
    with pytest.raises(Waiting, match=f"{DEFINITION}: {why}$"):
        apply_objects(seen, content_of(seen), dry_run_first=False)


def test_the_new_conversion_is_applied_when_its_webhook_can_be_called() -> None:
    seen = replace(having_applied(moving(), but=ADMISSION), endpoint_problems={WORKLOAD.name: ""})
    plan = apply_objects(seen, content_of(seen), dry_run_first=False)
    assert isinstance(plan, Apply)
    assert [(item.key, item.is_deferred) for step in plan.steps for item in step.items] == [(DEFINITION, True)]


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(moving(conversion=NEW, storage_version="v2"), id="it has moved"),
        pytest.param(
            replace(moving(), content=with_held_definitions(replace(moving(), labeled={}), rendered(digest="v2"))),
            id="the definition is not ours",
        ),
    ],
)
def test_it_is_applied_once_if_nothing_has_to_stay(seen: World) -> None:
    assert not forms(seen)[CRDS].held
    assert ADMISSION not in forms(seen)


def test_what_cannot_be_prevented_is_said_before_it_happens() -> None:
    assert evaluate(moving()).interruption == ""
    sentence = evaluate(moving(conversion=NEW._replace(path="/v1"))).interruption
    assert sentence.startswith(f"requests for custom resources of {DEFINITION.name} that have to be converted may fail")


BODY: dict[str, Any] = {
    "metadata": {"name": "boats.example.com", "annotations": {"a": "b", "cert-manager.io/inject-ca-from": "new/cert"}},
    "spec": {
        "versions": [{"name": "v1", "storage": False}, {"name": "v2", "storage": True}],
        "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {"caBundle": "new"}}},
    },
}


def live(annotations: dict[str, str], conversion: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"annotations": annotations}, "spec": {"conversion": conversion}}


@pytest.mark.parametrize(
    ("found", "annotations", "conversion"),
    [
        pytest.param(
            live({}, {"strategy": "None"}),
            {"a": "b"},
            {"strategy": "None"},
            id="nobody converted: no authority is injected",
        ),
        pytest.param(
            live({}, {"strategy": "Webhook", "webhook": {"clientConfig": {"caBundle": "old"}}}),
            {"a": "b"},
            {"strategy": "Webhook", "webhook": {"clientConfig": {"caBundle": "old"}}},
            id="with the authority that rukpak wrote",
        ),
        pytest.param(
            live(
                {"cert-manager.io/inject-ca-from": "old/cert"},
                {"strategy": "Webhook", "webhook": {"clientConfig": {"caBundle": "old", "service": {"name": "s"}}}},
            ),
            {"a": "b", "cert-manager.io/inject-ca-from": "old/cert"},
            {"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"name": "s"}}}},
            id="the authority is left to cert-manager",
        ),
    ],
)
def test_the_conversion_on_the_cluster_is_kept(
    found: dict[str, Any], annotations: dict[str, str], conversion: dict[str, Any]
) -> None:
    body = held_body(BODY, found, Held("v1", OLD))
    assert body["metadata"]["annotations"] == annotations
    assert body["spec"]["conversion"] == conversion
    assert [each["storage"] for each in body["spec"]["versions"]] == [True, False]


def test_the_conversion_of_the_bundle_is_applied_if_only_the_storage_stays() -> None:
    body = held_body(BODY, live({}, {}), Held("v1"))
    assert body["spec"]["conversion"] == BODY["spec"]["conversion"]
    assert body["metadata"] == BODY["metadata"]
