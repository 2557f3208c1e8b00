"""What is decided about serving certificates: issuing, what waits for them, what they change, and their rotation."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from olmkit.api.bundledeployments import BundleDeployment
from olmkit.errors import Waiting
from rukpak.bundledeployment.apply.certificate_rotation import rotate, with_certificates
from rukpak.bundledeployment.apply.install import awaited_endpoints
from rukpak.bundledeployment.health.health_result import progress
from rukpak.bundledeployment.object_labels import labels_digest
from rukpak.bundledeployment.plan import (
    Activate,
    Apply,
    CertificateWrite,
    Keep,
    Prune,
    UpdateInventory,
    WriteCertificates,
)
from rukpak.bundledeployment.rendered_bundle import RenderedBundle
from rukpak.bundledeployment.world import BriefWait, LastApplied, World
from rukpak.certificates.serving_certificate import ROTATION_LEAD, SETTLE_TIME, ServingCertificate, Step
from rukpak.format.objects import ObjectKey
from rukpak.render.endpoints import CertificateMode, Endpoint, Port
from tests.unit.rukpak.bundledeployment.worlds import (
    ALL,
    ENTRY,
    NOW,
    NS,
    WORKLOAD,
    ago,
    applied,
    installed,
    inventoried,
    member,
    plan_of,
    recorded,
    rendered,
    unpacked,
    world,
)
from tests.unit.rukpak.bundledeployment.worlds import namespace as namespace_info

HOOK = ObjectKey("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", "", "boats.example.com")
ENDPOINT = Endpoint(WORKLOAD.name, "ship-system", CertificateMode.SELF, (Port(443, 443),), frozenset({HOOK}))
CERT = ENDPOINT.secret_key
GOOD = ServingCertificate(digest="d", authorities="a", not_before=ago(days=1), not_after=NOW + timedelta(days=90))
DUE = replace(GOOD, not_after=NOW + ROTATION_LEAD)
KEYS = (*ALL, HOOK)
TEAM = {"example.com/team": "red"}
ISSUE = CertificateWrite(ENDPOINT, Step.ISSUE, "it does not exist")


def content(endpoint: Endpoint = ENDPOINT, *keys: ObjectKey) -> RenderedBundle:
    return rendered(*(keys or KEYS), endpoints=(endpoint,))


def with_cert(seen: World, known: ServingCertificate | None = GOOD, *, settled: bool = True) -> World:
    """The Secret exists, and the objects are as they were applied with it."""
    assert isinstance(seen.content, RenderedBundle)
    if known is None:
        return replace(seen, labeled={**seen.labeled, CERT: member(CERT)})
    certified = with_certificates(seen.content, {CERT: known})
    at = NOW - SETTLE_TIME if settled else NOW
    notes = {
        item.key: LastApplied(item.digest, ENTRY, at) for item in certified.objects() if item.key in seen.last_applied
    }
    return replace(
        seen,
        content=certified,
        labeled={**seen.labeled, CERT: member(CERT)},
        certificates={CERT: known},
        last_applied={**seen.last_applied, **notes},
    )


def fresh() -> World:
    return inventoried(unpacked(world(), content()), [*KEYS, CERT])


def running(known: ServingCertificate = GOOD, **settled: bool) -> World:
    seen = unpacked(installed(), content())
    return with_cert(inventoried(applied(seen), [*KEYS, CERT]), known, **settled)


def test_the_inventory_has_secrets_although_none_is_rendered() -> None:
    keys = [key for key in KEYS if key[1] != "Secret"]
    plan = plan_of(unpacked(world(), content(ENDPOINT, *keys)))
    assert isinstance(plan, UpdateInventory)
    assert ("", "Secret") in plan.kinds


def test_a_certificate_is_issued_after_the_namespaces_and_before_all_other_objects() -> None:
    first = plan_of(recorded(fresh()))
    assert isinstance(first, Apply)
    assert [item.key for step in first.steps for item in step.items] == [NS]
    there = applied(fresh(), *(key for key in KEYS if key != NS))
    there = inventoried(replace(there, namespaces={NS.name: namespace_info()}), [*KEYS, CERT])
    assert plan_of(there) == WriteCertificates(there.content, (ISSUE,))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        pytest.param(
            lambda seen: replace(seen, certificates={}, labeled=_without(seen)), "it does not exist", id="deleted"
        ),
        pytest.param(
            lambda seen: with_cert(seen, ServingCertificate(problem="the key is gone")), "the key is gone", id="broken"
        ),
        pytest.param(
            lambda seen: with_cert(seen, replace(GOOD, not_after=ago(days=1))), "it has expired", id="expired"
        ),
    ],
)
def test_a_certificate_that_cannot_be_served_is_issued_again(change: Callable[[World], World], why: str) -> None:
    seen = change(running())
    assert plan_of(seen) == WriteCertificates(seen.content, (CertificateWrite(ENDPOINT, Step.ISSUE, why),))  # type: ignore[arg-type]


def _without(seen: World) -> dict[ObjectKey, object]:
    return {key: entry for key, entry in seen.labeled.items() if key != CERT}


@pytest.mark.parametrize(
    ("labeled", "error", "text"),
    [
        pytest.param(member(CERT), BriefWait, "reading Secret", id="not read"),
        pytest.param(
            member(CERT, deletion_timestamp=NOW, finalizers=("a/b",)), Waiting, "finalizers: a/b", id="being deleted"
        ),
    ],
)
def test_a_secret_that_is_waited_for(labeled: object, error: type[Waiting], text: str) -> None:
    seen = running()
    seen = replace(seen, certificates={}, labeled={**seen.labeled, CERT: labeled})  # type: ignore[dict-item]
    with pytest.raises(error, match=text):
        plan_of(seen)


@pytest.mark.parametrize(
    ("known", "keys"),
    [
        pytest.param(GOOD, [], id="nothing"),
        pytest.param(replace(GOOD, authorities="a b"), [HOOK], id="the authorities: the clients"),
        pytest.param(replace(GOOD, digest="e"), [WORKLOAD], id="the certificate: the pods"),
    ],
)
def test_a_change_of_a_certificate_is_applied_to_the_objects_that_have_a_part_of_it(
    known: ServingCertificate, keys: list[ObjectKey]
) -> None:
    before = running()
    seen = replace(before, content=with_certificates(content_of(before), {CERT: known}), certificates={CERT: known})
    seen = replace(seen, endpoint_problems={WORKLOAD.name: ""})
    plan = plan_of(seen)
    found = [item.key for step in plan.steps for item in step.items] if isinstance(plan, Apply) else []
    assert found == keys


def content_of(seen: World) -> RenderedBundle:
    assert isinstance(seen.content, RenderedBundle)
    bare = unpacked(installed(), content()).content
    assert isinstance(bare, RenderedBundle)
    return bare


@pytest.mark.parametrize(
    ("problems", "text"),
    [
        pytest.param({}, "not asked yet", id="not asked"),
        pytest.param({WORKLOAD.name: "no pod is ready"}, "no pod is ready", id="it cannot be called"),
    ],
)
def test_webhooks_wait_until_their_endpoint_can_be_called(problems: dict[str, str], text: str) -> None:
    seen = replace(running(), endpoint_problems=problems)
    seen = replace(seen, labeled={key: entry for key, entry in seen.labeled.items() if key != HOOK})
    assert awaited_endpoints(seen, seen.content) == (ENDPOINT,)  # type: ignore[arg-type]
    with pytest.raises(Waiting, match=text):
        plan_of(seen)
    ready = plan_of(replace(seen, endpoint_problems={WORKLOAD.name: ""}))
    assert isinstance(ready, Apply)
    assert [item.key for step in ready.steps for item in step.items] == [HOOK]


def test_endpoints_are_asked_only_when_their_clients_are_next() -> None:
    assert awaited_endpoints(fresh(), content()) == ()
    assert awaited_endpoints(running(), running().content) == ()  # type: ignore[arg-type]


def test_clients_of_a_bundle_with_certificates_of_its_own_wait_for_nothing() -> None:
    own = replace(ENDPOINT, certificates=CertificateMode.NONE)
    seen = unpacked(installed(), content(own))
    seen = inventoried(applied(seen, HOOK), KEYS)
    plan = plan_of(seen)
    assert isinstance(plan, Apply)
    assert [item.key for step in plan.steps for item in step.items] == [HOOK]


@pytest.mark.parametrize(
    ("seen", "step"),
    [
        pytest.param(running(DUE), Step.TRUST, id="due"),
        pytest.param(running(replace(DUE, has_next=True)), Step.SWITCH, id="every client trusts the next one"),
        pytest.param(running(replace(GOOD, has_old_authority=True)), Step.DROP, id="all pods have the new one"),
    ],
)
def test_a_rotation(seen: World, step: Step) -> None:
    assert plan_of(seen) == WriteCertificates(seen.content, (CertificateWrite(ENDPOINT, step),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("seen", "after"),
    [
        pytest.param(running(), timedelta(days=90) - ROTATION_LEAD, id="not due"),
        pytest.param(running(replace(DUE, has_next=True), settled=False), SETTLE_TIME, id="API servers follow"),
    ],
)
def test_the_next_pass_is_at_the_next_step(seen: World, after: timedelta) -> None:
    assert plan_of(seen) == Keep(after)


def test_an_old_authority_stays_while_old_pods_run() -> None:
    seen = running(replace(GOOD, has_old_authority=True))
    rolling = member(WORKLOAD, health=progress("1 of 2 replicas are updated", None))
    seen = replace(seen, labeled={**seen.labeled, WORKLOAD: rolling})
    assert isinstance(plan_of(seen), Keep)


def test_an_old_authority_stays_for_a_moment_after_the_pods_were_changed() -> None:
    """Each replaced pod may be called until all endpoints of the Service have followed."""
    seen = running(replace(GOOD, has_old_authority=True))
    changed = replace(seen.last_applied[WORKLOAD], at=NOW)
    assert plan_of(replace(seen, last_applied={**seen.last_applied, WORKLOAD: changed})) == Keep(SETTLE_TIME)


def test_a_certificate_that_is_no_longer_needed_is_pruned() -> None:
    seen = replace(running(), content=unpacked(installed(), rendered()).content)
    seen = replace(seen, labeled={key: entry for key, entry in seen.labeled.items() if key != HOOK})
    seen = replace(seen, last_applied=installed().last_applied)
    plan = plan_of(seen)
    assert isinstance(plan, Prune)
    assert [entry.key for entry in plan.delete] == [CERT]


def test_a_bundle_becomes_active_with_its_certificate() -> None:
    seen = with_cert(inventoried(applied(unpacked(world(), content())), [*KEYS, CERT]))
    assert plan_of(seen) == Activate()


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        pytest.param(GOOD, Step.LABEL, id="the Secret gets them"),
        pytest.param(replace(GOOD, labels_digest="other"), Step.LABEL, id="it has other ones"),
        pytest.param(replace(GOOD, labels_digest=labels_digest(TEAM)), None, id="it has them"),
        pytest.param(DUE, Step.TRUST, id="a rotation begins, which writes them too"),
        pytest.param(replace(GOOD, has_old_authority=True), None, id="the next step of a rotation writes them"),
    ],
)
def test_a_secret_gets_the_labels_of_spec(known: ServingCertificate, expected: Step | None) -> None:
    seen = with_cert(applied(unpacked(content=content())), known, settled=False)
    spec = {**seen.raw["spec"], "objectLabels": TEAM}
    seen = replace(seen, deployment=BundleDeployment.load({**seen.raw, "spec": spec}))
    assert isinstance(seen.content, RenderedBundle)
    plan = rotate(seen, seen.content)
    assert ([write.step for write in plan.writes] if plan is not None else []) == ([expected] if expected else [])
