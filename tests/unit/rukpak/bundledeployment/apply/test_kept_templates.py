"""The pod template of a Deployment that was taken over: left out as long as it is the same, then handed over."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from olmkit.api.bundledeployment_status import KEEP_TEMPLATE_ANNOTATION, MAX_REFERENCES
from olmkit.api.bundledeployments import OWNER_UID_LABEL
from olmkit.api.ownership import UNKNOWN_MANAGER
from rukpak.bundledeployment.apply.kept_templates import digest, forgotten_template, handed_over, taken_over
from rukpak.bundledeployment.cluster.transforms import labeled_object
from rukpak.bundledeployment.plan import Apply, Done, RecordTemplates
from rukpak.bundledeployment.world import World
from tests.unit.rukpak.bundledeployment import worlds
from tests.unit.rukpak.bundledeployment.worlds import (
    WORKLOAD,
    inventoried,
    member,
    plan_of,
    raw,
    report_of,
    revision,
    unpacked,
    world,
)

Object = dict[str, Any]
OWNER = "rukpak:lamp"
BODY: Object = {
    "metadata": {"name": "lamp", "annotations": {"a": "b"}},
    "spec": {"replicas": 2, "selector": {}, "template": {"spec": {"containers": [{"name": "lamp"}]}}},
}


def live(**annotations: str) -> Object:
    return {"metadata": {"annotations": annotations}}


def test_a_deployment_with_the_annotation_is_taken_over_without_its_template() -> None:
    kept = taken_over(BODY, live(**{KEEP_TEMPLATE_ANNOTATION: "x"}))
    assert kept["spec"] == {"selector": {}}
    assert kept["metadata"]["annotations"] == {"a": "b", KEEP_TEMPLATE_ANNOTATION: digest(BODY)}
    assert BODY["metadata"]["annotations"] == {"a": "b"}
    assert taken_over(BODY, live()) is BODY


def test_a_template_that_earlier_ones_have_applied_is_nobodys_before_it_is_left_out() -> None:
    entries = [
        entry(OWNER, {"f:spec": {"f:replicas": {}, "f:template": TEMPLATE}}, "Apply"),
        entry("kubectl", {"f:spec": {"f:template": MORE}}),
        entry("rukpak:other", {"f:spec": {"f:template": MORE}}, "Apply"),
    ]
    found = forgotten_template(entries)
    assert found is not None
    assert [each["fieldsV1"]["f:spec"].get("f:template") for each in found[:3]] == [None, MORE, None]
    assert found[0]["fieldsV1"] == {"f:spec": {}}
    both: Object = {".": {}, "f:env": {}, "f:image": {}}
    containers = {"f:containers": {'k:{"name":"lamp"}': both}, "f:volumes": {}}
    assert found[3] == entry(UNKNOWN_MANAGER, {"f:spec": {"f:template": {"f:spec": containers}}})
    assert forgotten_template(entries[1:2]) is None


def test_another_template_has_another_digest() -> None:
    spec = {**BODY["spec"], "template": {"spec": {"containers": [{"name": "bulb"}]}}}
    assert digest({**BODY, "spec": spec}) != digest(BODY)
    assert digest({**BODY, "spec": {**BODY["spec"], "replicas": 3}}) == digest(BODY)


def entry(manager: str, fields: Object, operation: str = "Update", **more: str) -> Object:
    return {"manager": manager, "operation": operation, "fieldsV1": fields, **more}


TEMPLATE: Object = {"f:spec": {"f:containers": {'k:{"name":"lamp"}': {".": {}, "f:env": {}}}}}
MORE: Object = {"f:spec": {"f:containers": {'k:{"name":"lamp"}': {".": {}, "f:image": {}}}, "f:volumes": {}}}


def test_what_others_have_written_into_the_template_becomes_part_of_the_apply() -> None:
    scaler = entry("scaler", {"f:spec": {"f:replicas": {}}}, subresource="scale")
    entries = [
        entry("olm", {"f:metadata": {}, "f:spec": {"f:replicas": {}, "f:selector": {}, "f:template": TEMPLATE}}),
        entry("kubectl-edit", {"f:spec": {"f:template": MORE}}),
        scaler,
        entry("rukpak:other", {"f:spec": {"f:template": MORE}}, "Apply"),
        entry(OWNER, {"f:metadata": {"f:labels": {}}, "f:spec": {"f:selector": {}}}, "Apply"),
    ]
    olm, edited, scaled, other, own = handed_over(entries, OWNER)
    assert olm["fieldsV1"] == {"f:metadata": {}, "f:spec": {"f:selector": {}}}
    assert edited["fieldsV1"] == {"f:spec": {}}
    assert (scaled, other) == (scaler, entries[3])
    both: Object = {".": {}, "f:env": {}, "f:image": {}}
    assert own["fieldsV1"]["f:spec"] == {
        "f:selector": {},
        "f:template": {"f:spec": {"f:containers": {'k:{"name":"lamp"}': both}, "f:volumes": {}}},
    }


def test_entries_without_one_of_the_apply_lose_nothing_else() -> None:
    entries = [entry("olm", {"f:spec": {"f:selector": {}}})]
    assert handed_over(entries, OWNER) == entries


def deployment(annotations: Object, *entries: Object) -> Object:
    metadata = {
        "name": "lamp", "namespace": "lamps", "uid": "1", "resourceVersion": "1", "labels": {OWNER_UID_LABEL: "u"},
        "annotations": annotations, "managedFields": list(entries),
    }  # fmt: skip
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {}, "status": {}}


NOTED: Object = {"f:metadata": {"f:annotations": {f"f:{KEEP_TEMPLATE_ANNOTATION}": {}}}}
LABELED: Object = {"f:labels": {f"f:{OWNER_UID_LABEL}": {}}}


def applied(*, is_noted: bool, with_template: bool) -> Object:
    metadata = {**LABELED, **(NOTED["f:metadata"] if is_noted else {})}
    spec: Object = {"f:template": {}} if with_template else {"f:selector": {}}
    return entry(OWNER, {"f:metadata": metadata, "f:spec": spec}, "Apply", time="2026-01-01T00:00:00Z")


def test_only_what_rukpak_has_noted_counts() -> None:
    def kept(*entries: Object) -> str | None:
        found: str | None = labeled_object(deployment({KEEP_TEMPLATE_ANNOTATION: "d"}, *entries))[
            "labeled"
        ].kept_template
        return found

    tenant = entry("kubectl-annotate", NOTED)
    assert kept(applied(is_noted=True, with_template=False)) == "d"
    assert kept(applied(is_noted=False, with_template=False), tenant) == ""
    assert kept(applied(is_noted=False, with_template=True), tenant) is None
    assert kept(applied(is_noted=True, with_template=True)) is None
    assert kept(tenant) is None


def noted(policy: str = "IfUnowned", installed_at: str | None = None, *named: str, number: int = 1) -> World:
    """A World with a Deployment whose entry of rukpak notes a template that was left out; the status names these."""
    history = [revision(number, **({"installedAt": installed_at} if installed_at else {}))]
    status = {"observedGeneration": 1, "history": history}
    if named:
        status["keptTemplates"] = [
            {"group": "apps", "kind": "Deployment", "namespace": WORKLOAD.namespace, "name": name} for name in named
        ]
    obj = raw(status=status)
    obj["spec"]["adoptionPolicy"] = policy
    seen = worlds.applied(unpacked(world(obj)))
    return replace(seen, labeled={**seen.labeled, WORKLOAD: member(WORKLOAD, kept_template="digest")})


@pytest.mark.parametrize(
    ("seen", "is_kept"),
    [
        pytest.param(noted(), False, id="it was not named before the Deployment was taken over"),
        pytest.param(noted("IfUnowned", None, WORKLOAD.name), True, id="before the first installation has ended"),
        pytest.param(noted("Never"), False, id="nothing of others is taken over"),
        pytest.param(noted("IfUnowned", "2026-01-01T11:00:00Z", WORKLOAD.name), True, id="the status names it"),
        pytest.param(noted("Never", "2026-01-01T11:00:00Z", WORKLOAD.name), True, id="the policy was removed since"),
        pytest.param(noted("IfUnowned", "2026-01-01T11:00:00Z", "other"), False, id="the status names another one"),
        pytest.param(noted("IfUnowned", "2026-01-01T11:00:00Z"), False, id="the status names none"),
    ],
)
def test_a_forged_entry_counts_for_nothing(seen: World, *, is_kept: bool) -> None:
    assert dict(seen.kept_templates) == ({WORKLOAD: "digest"} if is_kept else {})


def test_the_status_names_a_deployment_before_it_is_taken_over_with_its_pods() -> None:
    seen = inventoried(noted())
    seen = replace(seen, labeled={}, prepared_templates=frozenset({WORKLOAD}))
    assert isinstance(plan_of(seen), RecordTemplates)
    status = report_of(seen, Done(RecordTemplates())).status
    assert [each.name for each in status.kept_templates or ()] == [WORKLOAD.name]
    seen = inventoried(noted("IfUnowned", None, WORKLOAD.name))
    seen = replace(seen, labeled={}, prepared_templates=frozenset({WORKLOAD}))
    plan = plan_of(seen)
    assert isinstance(plan, Apply)
    assert report_of(seen, Done(plan)).status.kept_templates == status.kept_templates
    seen = replace(seen, prepared_templates=frozenset())
    assert report_of(seen, Done(plan)).status.kept_templates is None, "others have changed their mind"


def test_no_more_deployments_are_recorded_than_the_status_has_room_for() -> None:
    names = [f"lamp-{number:03}" for number in range(MAX_REFERENCES)]
    seen = noted("IfUnowned", None, *names)
    seen = replace(seen, prepared_templates=frozenset({WORKLOAD}))
    assert not seen.unrecorded_templates
