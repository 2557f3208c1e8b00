"""In which order a BundleDeployment that is being deleted takes its objects along."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from olmkit.api.bundledeployments import ABANDON_ANNOTATION, DELETION_HOLD_ANNOTATION, MAX_DELETION_HOLD_LENGTH, Reason
from olmkit.api.customresourcedefinitions import NO_WEBHOOK, Conversion, CustomResourceDefinition
from olmkit.errors import Waiting, api_error
from rukpak.bundledeployment.cluster.namespace_blockers import NamespaceBlockers
from rukpak.bundledeployment.cluster.namespace_info import NamespaceInfo
from rukpak.bundledeployment.deletion.deletion_order import DELETE_BATCH
from rukpak.bundledeployment.deletion.finalize import STUCK_AFTER
from rukpak.bundledeployment.plan import (
    Announce,
    DeleteObjects,
    Done,
    Keep,
    LeaveNamespaces,
    ListForeignObjects,
    RemoveFinalizer,
)
from rukpak.bundledeployment.world import BriefWait, ForeignObjects, LabeledObject, ListFailure, World
from rukpak.format.objects import ObjectKey
from tests.unit.rukpak.bundledeployment.worlds import (
    BOAT,
    DEFINITION,
    NOW,
    NS,
    ROLE,
    SECRET,
    UID,
    WORKLOAD,
    ago,
    deleting,
    installed,
    instance,
    member,
    namespace,
    plan_of,
    raw,
    report_of,
    unpacked,
    world,
)

WEBHOOK = ObjectKey("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", "", "guard")


def having(*members: LabeledObject, namespaces: tuple[NamespaceInfo, ...] = (), abandoned: bool = False) -> World:
    """Being deleted, with these objects left."""
    seen = deleting(annotations={ABANDON_ANNOTATION: "true"} if abandoned else {})
    return replace(
        seen,
        labeled={entry.key: entry for entry in members},
        namespaces={facts.name: facts for facts in namespaces},
    )


def torn(seen: World) -> list[list[str]]:
    """The names of what is deleted next, group by group."""
    plan = plan_of(seen)
    assert isinstance(plan, DeleteObjects)
    return [[entry.key.name for entry in group] for group in plan.groups]


def test_without_our_finalizer_there_is_nothing_to_do() -> None:
    assert plan_of(deleting(finalizers=["other"])) == Keep()


def test_what_never_installed_anything_goes_at_once() -> None:
    assert plan_of(deleting(world())) == RemoveFinalizer()
    assert plan_of(deleting(unpacked())) == RemoveFinalizer()


def held(seen: World, text: str, **metadata: Any) -> World:
    """The annotation holds the deletion."""
    return deleting(
        seen, annotations={**seen.deployment.metadata.annotations, DELETION_HOLD_ANNOTATION: text}, **metadata
    )


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(installed(), id="nothing is deleted yet"),
        pytest.param(world(), id="nothing was ever installed"),
        pytest.param(having(member(SECRET, deletion_timestamp=NOW)), id="some of it is deleted already"),
        pytest.param(having(member(SECRET), abandoned=True), id="what is stuck may be left behind"),
        pytest.param(replace(installed(), unsynced=frozenset({("", "Secret")})), id="its objects are not listed yet"),
        pytest.param(replace(installed(), custom_resources=None), id="its custom resources are not listed"),
    ],
)
def test_a_held_deletion_deletes_nothing_and_reports_why(seen: World) -> None:
    seen = held(seen, "party needs it")
    with pytest.raises(Waiting) as caught:
        plan_of(seen)
    assert (caught.value.reason, caught.value.message) == (Reason.DELETION_HELD, "deletion is held: party needs it")
    conditions = {each.type: each for each in report_of(seen, caught.value).status.conditions}
    for kind, status in (("Ready", "False"), ("Reconciling", "True")):
        found = conditions[kind]
        assert (found.status, found.reason, found.message) == (
            status,
            "DeletionHeld",
            "deletion is held: party needs it",
        )


def test_the_event_of_a_hold_is_written_once() -> None:
    seen = held(installed(), "party needs it")
    first = report_of(seen, error_of(seen))
    assert [each.type for each in first.transitions] == ["Ready", "Reconciling"]
    seen = held(world(raw(status=first.status.dump())), "party and picnic need it")
    second = report_of(seen, error_of(seen))
    assert second.transitions == ()
    assert "picnic" in second.status.conditions[0].message


def error_of(seen: World) -> Waiting:
    with pytest.raises(Waiting) as caught:
        plan_of(seen)
    return caught.value


def test_an_empty_hold_and_one_without_our_finalizer_hold_nothing() -> None:
    assert torn(held(having(member(SECRET)), "")) == [["log"]]
    seen = held(installed(), "party needs it", finalizers=["other"])
    assert plan_of(seen) == Keep()
    assert "held" not in report_of(seen, Done(Keep())).status.conditions[0].message


def test_a_hold_means_nothing_before_the_deletion() -> None:
    obj = raw(annotations={DELETION_HOLD_ANNOTATION: "party needs it"})
    assert plan_of(world(obj)) == plan_of(world())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("a\x1b[31m\nb\t c", "a [31m b c", id="control characters and line breaks are spaces"),
        pytest.param(" ", "", id="only spaces"),
        pytest.param("x" * 5000, "x" * MAX_DELETION_HOLD_LENGTH, id="a long text is truncated"),
    ],
)
def test_the_text_of_a_hold_is_one_short_line(text: str, shown: str) -> None:
    assert error_of(held(installed(), text)).message == f"deletion is held: {shown}"


def test_custom_resources_go_first_and_alone() -> None:
    seen = replace(
        having(member(BOAT), member(WORKLOAD), member(DEFINITION)), custom_resources=(instance(), instance("dory"))
    )
    assert torn(seen) == [["dory", "yacht", "dinghy"]]


def test_a_custom_resource_in_the_bundle_that_is_seen_twice_is_deleted_once() -> None:
    seen = replace(having(member(BOAT)), custom_resources=(replace(instance(), key=BOAT),))
    assert torn(seen) == [["dinghy"]]


def test_while_custom_resources_are_going_their_operator_runs() -> None:
    seen = replace(having(member(WORKLOAD)), custom_resources=(instance(deletion_timestamp=ago(seconds=3)),))
    with pytest.raises(Waiting, match=r"^removing custom resources$") as caught:
        plan_of(seen)
    assert caught.value.reason == Reason.REMOVING
    assert caught.value.after == timedelta(seconds=2)


def test_then_webhooks_workloads_access_and_configuration_in_that_order() -> None:
    seen = having(*map(member, (DEFINITION, SECRET, ROLE, WORKLOAD, WEBHOOK)), namespaces=(namespace(),))
    assert torn(seen) == [["guard"], ["engine"], ["captain"], ["log"]]


def test_what_is_going_is_not_deleted_again() -> None:
    assert torn(having(member(SECRET), member(ROLE, deletion_timestamp=NOW))) == [["log"]]


def test_crds_go_when_all_else_is_gone() -> None:
    with pytest.raises(Waiting, match="removing objects"):
        plan_of(having(member(DEFINITION), member(SECRET, deletion_timestamp=NOW)))
    assert torn(having(member(DEFINITION), namespaces=(namespace(),))) == [[DEFINITION.name]]


def test_of_very_many_objects_some_go_at_a_time() -> None:
    seen = replace(having(), custom_resources=tuple(instance(f"i{number}") for number in range(DELETE_BATCH + 5)))
    assert [len(group) for group in torn(seen)] == [DELETE_BATCH]


def test_what_bears_our_label_as_a_copy_is_not_deleted() -> None:
    assert plan_of(having(member(SECRET, applied_fields={}))) == RemoveFinalizer()


@pytest.mark.parametrize(
    ("facts", "is_removed"),
    [
        pytest.param(namespace(), True, id="made by rukpak, and we are alone: it goes"),
        pytest.param(namespace(NS.name, UID, "uid-other"), False, id="others are in it: it is left"),
        pytest.param(namespace(created=False), False, id="it was there before: it is left"),
        pytest.param(namespace(is_required=True), False, id="made by rukpak, and it is required: it is left"),
    ],
)
def test_a_namespace_goes_with_its_last_member_if_rukpak_made_it(facts: NamespaceInfo, is_removed: bool) -> None:
    seen = replace(having(namespaces=(facts,)), foreign_objects={facts.uid: ForeignObjects()})
    assert plan_of(seen) == (LeaveNamespaces((), (facts,)) if is_removed else LeaveNamespaces((facts,), ()))


def test_what_else_is_in_a_namespace_is_said_before_it_goes() -> None:
    ours, other = namespace(), namespace("other", created=False)
    seen = having(namespaces=(ours, other))
    assert plan_of(seen) == ListForeignObjects((ours,))
    seen = replace(seen, foreign_objects={ours.uid: ForeignObjects(("ConfigMap ship-system/notes",), 1)})
    assert plan_of(seen) == Announce()
    result = report_of(seen, Done(Announce()))
    text = "objects that are not part of the bundle are deleted with their Namespace: ConfigMap ship-system/notes"
    assert [(notice.type, notice.reason, notice.message) for notice in result.events] == [
        ("Warning", "NamespaceNotEmpty", text)
    ]
    assert {each.message for each in result.status.conditions} == {f"removing Namespace ship-system; {text}"}
    seen = replace(seen, deployment=seen.deployment.model_copy(update={"status": result.status}))
    assert plan_of(seen) == LeaveNamespaces((other,), (ours,))
    assert report_of(seen, Done(LeaveNamespaces((), (ours,)))).events == ()
    shared = replace(seen, namespaces={ours.name: namespace(NS.name, UID, "uid-other")})
    stays = {each.message for each in report_of(shared, Done(Keep())).status.conditions}
    assert stays == {"removing the BundleDeployment"}


def test_what_is_in_a_namespace_is_listed_when_all_else_is_deleted() -> None:
    assert isinstance(plan_of(having(member(SECRET), namespaces=(namespace(),))), DeleteObjects)
    with pytest.raises(Waiting, match="removing objects"):
        plan_of(having(member(SECRET, deletion_timestamp=NOW), namespaces=(namespace(),)))
    left = having(namespaces=(namespace(created=False),))
    assert plan_of(left) == LeaveNamespaces((namespace(created=False),), ()), "it is not deleted"


def test_a_long_list_of_what_goes_with_a_namespace_is_said_once_although_it_is_cut() -> None:
    many = tuple(f"ConfigMap ship-system/{letter * 250}" for letter in "abcdef")
    seen = replace(
        having(namespaces=(namespace(),)), foreign_objects={namespace().uid: ForeignObjects(many, len(many))}
    )
    result = report_of(seen, Done(Announce()))
    seen = replace(seen, deployment=seen.deployment.model_copy(update={"status": result.status}))
    assert plan_of(seen) == LeaveNamespaces((), (namespace(),))


def test_a_namespace_of_ours_is_waited_for_and_one_of_others_is_not() -> None:
    with pytest.raises(Waiting, match=r"^removing Namespace ship-system$"):
        plan_of(having(namespaces=(namespace(deletion_timestamp=NOW),)))
    with pytest.raises(Waiting, match="10 minutes; kubectl annotate bundledeployment ship"):
        plan_of(having(namespaces=(namespace(deletion_timestamp=ago(minutes=11)),)))
    assert plan_of(having(namespaces=(namespace(created=False, deletion_timestamp=NOW),))) == RemoveFinalizer()
    assert plan_of(having(namespaces=(namespace("x", "uid-other"),))) == RemoveFinalizer()
    required = namespace(is_required=True, deletion_timestamp=NOW)
    assert plan_of(having(namespaces=(required,))) == RemoveFinalizer(), "somebody else deletes it"


def test_what_is_stuck_is_named_with_its_finalizers_and_the_way_out() -> None:
    seen = replace(
        having(),
        custom_resources=(
            instance(deletion_timestamp=ago(minutes=10), finalizers=("a/b", "c")),
            instance("x", deletion_timestamp=NOW),
        ),
    )
    with pytest.raises(Waiting) as caught:
        plan_of(seen)
    assert str(caught.value) == (
        "removing custom resources: not deleted for more than 10 minutes: Boat.example.com harbour/yacht (finalizers: a/b, c); "
        "kubectl annotate bundledeployment ship core.rukpak.io/abandon=true leaves it behind"
    )


def test_what_has_finalizers_is_named_at_once_and_before_what_is_stuck() -> None:
    seen = having(
        member(SECRET, deletion_timestamp=NOW, finalizers=("a/b", "c")),
        member(ROLE, deletion_timestamp=ago(minutes=10)),
        member(WORKLOAD, deletion_timestamp=ago(seconds=1)),
    )
    with pytest.raises(Waiting) as caught:
        plan_of(seen)
    assert str(caught.value) == (
        "removing objects: waiting for Secret ship-system/log (finalizers: a/b, c); not deleted for more than 10 minutes: "
        "ClusterRole.rbac.authorization.k8s.io captain; "
        "kubectl annotate bundledeployment ship core.rukpak.io/abandon=true leaves it behind"
    )


def test_a_deletion_that_has_just_begun_is_not_advised_to_leave_anything_behind() -> None:
    old = unlisted(403)
    for seen, is_advised in ((deleting(old, deletionTimestamp="2026-01-01T11:55:00Z"), False), (old, True)):
        with pytest.raises(Waiting, match=r"does not list Boat.example.com, .*: no($|; kubectl)") as caught:
            plan_of(seen)
        assert ("abandon" in str(caught.value)) is is_advised


@pytest.mark.parametrize("status", [0, 401, 429, 500, 502, 503, 504])
def test_nobody_is_advised_to_leave_anything_behind_because_of_what_passes(status: int) -> None:
    with pytest.raises(Waiting, match=r"^the API server does not list Boat.example.com, which has to be removed: no$"):
        plan_of(unlisted(status))


def test_a_conversion_webhook_that_keeps_custom_resources_from_being_listed_is_named() -> None:
    conversion = Conversion("Webhook", "ship-system", "engine")
    with pytest.raises(Waiting) as caught:
        plan_of(unlisted(500, conversion))
    assert str(caught.value) == (
        "the API server does not list Boat.example.com, which has to be removed: no; see to its conversion webhook "
        "ship-system/engine, or set spec.conversion of CustomResourceDefinition boats.example.com to "
        '{"strategy":"None"}: what is removed need not be converted'
    )
    with pytest.raises(Waiting, match=r": no$"):
        plan_of(unlisted(429, conversion))


def unlisted(status: int, conversion: Conversion = NO_WEBHOOK) -> World:
    """Its custom resources are not listed, in a deletion that began long ago."""
    boats = CustomResourceDefinition("boats.example.com", group="example.com", kind="Boat", conversion=conversion)
    return replace(having(), custom_resources=None, list_failure=ListFailure(boats, api_error(status, "", "no")))


def test_what_a_namespace_waits_for_is_named() -> None:
    seen = having(namespaces=(namespace(deletion_timestamp=ago(seconds=30), finalizers=("d",)),))
    with pytest.raises(Waiting) as caught:
        plan_of(replace(seen, namespace_blockers={NS.name: NamespaceBlockers({SECRET: ("a/b",)})}))
    assert str(caught.value) == (
        "removing Namespace ship-system (finalizers: d), which waits for Secret ship-system/log (finalizers: a/b)"
    )
    assert caught.value.after == timedelta(seconds=3)


def test_the_next_pass_is_when_something_gets_stuck() -> None:
    with pytest.raises(Waiting) as caught:
        plan_of(having(member(SECRET, deletion_timestamp=NOW - STUCK_AFTER + timedelta(seconds=20))))
    assert caught.value.after == timedelta(seconds=20)


def test_what_is_abandoned_is_deleted_but_not_waited_for() -> None:
    going = member(SECRET, deletion_timestamp=ago(hours=1))
    assert torn(having(member(SECRET), abandoned=True)) == [["log"]]
    assert torn(having(going, member(DEFINITION), abandoned=True)) == [[DEFINITION.name]]
    assert plan_of(having(going, namespaces=(namespace(deletion_timestamp=NOW),), abandoned=True)) == RemoveFinalizer()


def test_nothing_goes_before_everything_was_read() -> None:
    kinds = frozenset({("", "Secret")})
    with pytest.raises(BriefWait, match="Secret"):
        plan_of(replace(having(member(WORKLOAD)), unsynced=kinds))
    hidden = frozenset({("metrics.example.com", "Gauge")})
    with pytest.raises(Waiting, match=r"does not answer for metrics.example.com: its objects cannot be removed$"):
        plan_of(replace(having(member(WORKLOAD)), unsynced=hidden, unreachable_kinds=hidden))
    with pytest.raises(Waiting, match="custom resources are not listed"):
        plan_of(replace(having(member(WORKLOAD)), custom_resources=None))
    assert torn(replace(having(member(WORKLOAD), abandoned=True), unsynced=hidden, unreachable_kinds=hidden)) == [
        ["engine"]
    ]


def test_the_finalizer_stays_while_what_is_left_may_not_be_known() -> None:
    stale = frozenset({("", "Secret"), ("apps", "Deployment")})
    with pytest.raises(BriefWait, match="listing Deployment, Secret"):
        plan_of(replace(having(), unsynced=stale))
    assert plan_of(having()) == RemoveFinalizer()
    assert plan_of(replace(having(abandoned=True), unsynced=stale, unreachable_kinds=stale)) == RemoveFinalizer()


def test_what_is_abandoned_is_still_read_first() -> None:
    seen = replace(having(member(WORKLOAD), abandoned=True), unsynced=frozenset({("", "Secret")}))
    with pytest.raises(BriefWait, match="Secret"):
        plan_of(seen)
    assert torn(replace(having(member(WORKLOAD), abandoned=True), custom_resources=None)) == [["engine"]]


def test_what_the_server_refuses_to_delete_is_left_only_if_that_is_asked_for() -> None:
    stuck, here = member(SECRET), namespace()
    uids = frozenset({stuck.uid, here.uid})
    assert torn(replace(having(stuck), undeletable=uids)) == [["log"]]
    assert torn(replace(having(stuck, member(ROLE), abandoned=True), undeletable=uids)) == [["captain"]]
    seen = replace(having(stuck, namespaces=(here,), abandoned=True), undeletable=uids)
    assert plan_of(seen) == RemoveFinalizer()


def test_webhooks_that_nobody_answers_for_go_before_the_custom_resources() -> None:
    seen = replace(having(member(WEBHOOK), member(BOAT)), custom_resources=(instance(),))
    assert torn(seen) == [["yacht", "dinghy"]]
    assert torn(replace(seen, webhooks_without_endpoints=frozenset({WEBHOOK}))) == [["guard"]]
    going = member(WEBHOOK, deletion_timestamp=NOW)
    seen = replace(having(going, member(BOAT)), webhooks_without_endpoints=frozenset({WEBHOOK}))
    with pytest.raises(Waiting, match="removing webhooks"):
        plan_of(seen)
