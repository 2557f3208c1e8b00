"""What is taken from an object of OLM v0, and given back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from olmctl.migration.marks import MARK, MARKS, Installation
from olmctl.migration.records import KEEP, is_created_by
from olmkit.api.bundledeployment_status import KEEP_TEMPLATE_ANNOTATION
from olmkit.api.meta import Kind

Object = dict[str, Any]
ROLES = Kind("rbac.authorization.k8s.io", "v1", "Role", "roles", namespaced=True)
COMPONENT = "operators.coreos.com/lamp.lamps"
LAMP = Installation(
    "lamp", "lamps", "lamp.v1.0.0", COMPONENT, frozenset({"uid-csv", "uid-condition"}), frozenset({"watched"})
)


def reference(uid: str = "uid-csv", version: str = "operators.coreos.com/v1alpha1") -> Object:
    return {"apiVersion": version, "kind": "ClusterServiceVersion", "name": "lamp.v1.0.0", "uid": uid}


def obj(kind: str = "Role", version: str = "rbac.authorization.k8s.io/v1", **metadata: Any) -> Object:
    given = {"name": "lamp", "namespace": "lamps", "uid": "1", "resourceVersion": "7", **metadata}
    return {"apiVersion": version, "kind": kind, "metadata": given}


OWNER = {"olm.owner": "lamp.v1.0.0", "olm.owner.kind": "ClusterServiceVersion", "olm.owner.namespace": "lamps"}


@pytest.mark.parametrize(
    ("found", "is_owned"),
    [
        pytest.param(obj(labels=OWNER), True, id="labels that name it"),
        pytest.param(obj(namespace="", labels=OWNER), True, id="labels of an object without a namespace"),
        pytest.param(
            obj(namespace="watched", labels={**OWNER, "olm.owner.namespace": "watched"}), True, id="labels of its copy"
        ),
        pytest.param(
            obj(namespace="others", labels={**OWNER, "olm.owner.namespace": "others"}),
            False,
            id="labels of another original of the same name",
        ),
        pytest.param(obj(labels={**OWNER, "olm.owner": "lamp.v2.0.0"}), False, id="labels of another version"),
        pytest.param(
            obj(labels={**OWNER, "olm.owner.namespace": "more"}), False, id="labels of a version in another namespace"
        ),
        pytest.param(obj(labels={**OWNER, "olm.owner.kind": "OperatorGroup"}), False, id="labels of a group"),
        pytest.param(obj(labels={COMPONENT: ""}), True, id="the label of a component"),
        pytest.param(obj(labels={"operators.coreos.com/bulb.lamps": ""}), False, id="the label of another package"),
        pytest.param(obj(ownerReferences=[reference()]), True, id="an owner reference"),
        pytest.param(
            obj(ownerReferences=[reference("uid-condition")]), True, id="a reference to its OperatorCondition"
        ),
        pytest.param(obj(ownerReferences=[reference("other")]), False, id="a reference to another object"),
        pytest.param(obj(), False, id="nothing"),
    ],
)
def test_what_belongs_to_a_package(found: Object, is_owned: bool) -> None:
    assert LAMP.owns(found) is is_owned


def applied(found: Object, patch: Object) -> Object:
    """The object after a merge patch of its metadata."""
    metadata = dict(found["metadata"])
    for name, value in patch["metadata"].items():
        if isinstance(value, dict):
            merged = {**metadata.get(name, {}), **value}
            metadata[name] = {key: each for key, each in merged.items() if each is not None}
        else:
            metadata[name] = value
    return {**found, "metadata": metadata}


OTHERS = {"apiVersion": "v1", "kind": "ConfigMap", "name": "mine", "uid": "9"}


def test_what_is_taken_is_given_back() -> None:
    found = obj(
        labels={**OWNER, "olm.managed": "true", COMPONENT: "", "app": "lamp"},
        annotations={"operatorframework.io/installed-alongside-1": "lamps/lamp.v1.0.0", "note": "x"},
        ownerReferences=[reference(), OTHERS],
    )
    patch = LAMP.detached(found)
    assert patch is not None
    assert (patch["metadata"]["uid"], patch["metadata"]["resourceVersion"]) == ("1", "7")
    taken = applied(found, patch)
    assert taken["metadata"]["labels"] == {"app": "lamp", MARK: "lamp"}
    assert taken["metadata"]["annotations"].keys() == {"note", MARK}
    assert taken["metadata"]["ownerReferences"] == [OTHERS]
    assert LAMP.detached(taken) is None
    back = applied(taken, MARKS.restored(taken, {"uid-csv"}))
    for name in ("labels", "annotations"):
        assert back["metadata"][name] == found["metadata"][name]
    assert back["metadata"]["ownerReferences"] == [OTHERS, reference()]


def test_what_olm_v0_writes_again_is_taken_again() -> None:
    taken = applied(obj(labels=OWNER), LAMP.detached(obj(labels=OWNER)) or {})
    again = applied(taken, {"metadata": {"labels": {"olm.managed": "true"}, "ownerReferences": [reference()]}})
    patch = LAMP.detached(again)
    assert patch is not None
    record = MARKS.record_of(applied(again, patch))
    assert record is not None
    assert (dict(record.labels), record.references) == ({**OWNER, "olm.managed": "true"}, (reference(),))


def test_the_template_of_a_deployment_is_noted_and_kept() -> None:
    found = {**obj("Deployment", "apps/v1", labels=OWNER), "spec": {"template": {"spec": {"containers": []}}}}
    patch = LAMP.detached(found)
    assert patch is not None
    assert patch["metadata"]["annotations"][KEEP_TEMPLATE_ANNOTATION] == KEEP
    taken = applied(found, patch)
    record = MARKS.record_of(taken)
    assert record is not None
    assert len(record.template) == 32
    assert KEEP_TEMPLATE_ANNOTATION not in applied(taken, MARKS.restored(taken, set()))["metadata"]["annotations"]


def test_a_reference_to_a_version_that_is_gone_is_not_given_back() -> None:
    """The garbage collector would delete the object."""
    taken = applied(obj(ownerReferences=[reference()]), LAMP.detached(obj(ownerReferences=[reference()])) or {})
    assert MARKS.restored(taken, {"another"})["metadata"]["ownerReferences"] == []


@pytest.mark.parametrize(
    "written",
    [
        pytest.param("", id="empty"),
        pytest.param("{", id="no JSON"),
        pytest.param("[1]", id="no object"),
        pytest.param('"' + "x" * 70_000 + '"', id="too long"),
        pytest.param("[" * 50_000, id="too deep"),
    ],
)
def test_an_annotation_that_cannot_be_read_gives_nothing_back(written: str) -> None:
    found = obj(annotations={MARK: written})
    assert MARKS.record_of(found) is None
    assert MARKS.restored(found, {"uid-csv"})["metadata"]["ownerReferences"] == []


def test_an_annotation_gives_back_only_what_olm_v0_writes() -> None:
    forged = {
        "labels": {"core.rukpak.io/owner-uid": "1", "olm.owner": "lamp.v1.0.0", "app": 1},
        "annotations": {"evil": "x", "operatorframework.io/installed-alongside-1": "a/b"},
        "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "uid-csv"}, "x", reference()],
        "isNew": "yes",
    }
    record = MARKS.record_of(obj(annotations={MARK: json.dumps(forged)}))
    assert record is not None
    assert dict(record.labels) == {"olm.owner": "lamp.v1.0.0"}
    assert dict(record.annotations) == {"operatorframework.io/installed-alongside-1": "a/b"}
    assert (record.references, record.is_new) == ((reference(),), False)


def test_what_the_operator_has_created_is_marked_as_new() -> None:
    record = MARKS.record_of(applied(obj(), MARKS.marked_new(ROLES, obj(), "lamp")))
    assert record is not None
    assert record.is_new


BEGUN, LATER, BEFORE = "2026-01-01T12:00:00Z", "2026-01-01T12:00:05Z", "2026-01-01T11:00:00Z"


def entry(manager: str, time: str, operation: str = "Apply", **fields: Any) -> Object:
    return {"manager": manager, "operation": operation, "time": time, "fieldsV1": fields or {"f:data": {}}}


@pytest.mark.parametrize(
    ("entries", "since"),
    [
        pytest.param([], "", id="nothing shows it"),
        pytest.param([entry("olm", BEGUN, "Update")], "", id="another field"),
        pytest.param(
            [
                entry("olm", LATER, "Update", **{"f:metadata": {"f:labels": {f"f:{MARK}": {}}}}),
                entry("kubectl", BEGUN, "Update", **{"f:metadata": {"f:labels": {f"f:{MARK}": {}}}}),
            ],
            BEGUN,
            id="the first of those who wrote it",
        ),
    ],
)
def test_the_time_of_a_mark(entries: list[Object], since: str) -> None:
    assert MARKS.marked_since(obj(managedFields=entries)) == since


@pytest.mark.parametrize(
    ("created", "entries", "since", "is_created"),
    [
        pytest.param(LATER, [entry("rukpak:lamp", LATER)], BEGUN, True, id="the Operator's"),
        pytest.param(BEFORE, [entry("rukpak:lamp", LATER)], BEGUN, False, id="it was there before, and was taken over"),
        pytest.param(LATER, [entry("kubectl", LATER)], BEGUN, False, id="somebody else's"),
        pytest.param(LATER, [entry("rukpak:lamp", LATER, "Update")], BEGUN, False, id="no apply"),
        pytest.param(LATER, [], BEGUN, False, id="nobody's"),
        pytest.param(LATER, [entry("rukpak:lamp", LATER)], "", False, id="nothing shows when the migration began"),
    ],
)
def test_what_the_operator_has_created(created: str, entries: list[Object], since: str, is_created: bool) -> None:
    found = obj(creationTimestamp=created, managedFields=entries)
    assert is_created_by(found, "rukpak:lamp", since) is is_created


@pytest.mark.parametrize(
    ("fields", "is_new"),
    [
        pytest.param({"f:metadata": {"f:annotations": {f"f:{MARK}": {}}}}, True, id="as it was applied"),
        pytest.param({"f:metadata": {"f:labels": {f"f:{MARK}": {}}}}, False, id="which others have changed"),
    ],
)
def test_a_mark_of_what_is_new(fields: Object, is_new: bool) -> None:
    written = {**entry(MARKS.manager, LATER), "fieldsV1": fields}
    found = obj(creationTimestamp=LATER, managedFields=[written])
    assert is_created_by(found, MARKS.manager, BEGUN, *MARKS.field) is is_new
