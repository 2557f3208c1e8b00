"""Instances are created and changed by forms, without JavaScript, by the rights of the user alone."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from devcluster.cluster import Cluster
from tests.cluster.console.pages.conftest import GROUP, KIND, LIST, PLURAL, Object, fields, logged_in, words
from tests.console import Browser

pytestmark = pytest.mark.console

NEW = f"{LIST}/new?ns=forms"


def get(cluster: Cluster, name: str) -> Object:
    found: Object = json.loads(
        cluster.kubectl("get", f"{PLURAL}.{GROUP}", name, "-n", "forms", "-o", "json", "--show-managed-fields")
    )
    return found


@pytest.fixture
def clean(kind: Cluster) -> Iterator[None]:
    yield
    kind.kubectl("delete", f"{PLURAL}.{GROUP}", "--all", "-n", "forms")


@pytest.fixture
def instance(kind: Cluster, clean: None) -> Object:
    """An instance that somebody else has applied."""
    body = {
        "apiVersion": f"{GROUP}/v1",
        "kind": KIND,
        "metadata": {"name": "mine", "namespace": "forms"},
        "spec": {"size": 2, "note": "theirs", "tags": ["a", "b"]},
    }
    kind.kubectl("apply", "--server-side", "--field-manager=other", "-f", "-", input=json.dumps(body))
    return get(kind, "mine")


async def test_an_instance_is_created_from_the_form(kind: Cluster, admin: Browser, clean: None) -> None:
    page = await admin.get(NEW)
    assert page.status == 200
    sent = fields(page)
    assert sent["/spec/size"] == "1"
    wrong = await admin.post(NEW, {**sent, "action": "create", "/spec/size": "99"})
    assert wrong.status == 422
    assert "must be at most 9" in words(wrong)
    assert "Name: is required" in words(await admin.post(NEW, {**sent, "action": "create"}))
    named = {**sent, "metadata.name": "one", "metadata.namespace": "forms"}
    unlucky = await admin.post(NEW, {**named, "action": "create", "/spec/size": "7"})
    assert (unlucky.status, "size 7 is unlucky" in words(unlucky)) == (422, True)
    checked = await admin.post(NEW, {**named, "action": "check", "/spec/size": "3"})
    assert "Nothing was created" in words(checked)
    rows = await admin.post(NEW, {**named, "action": "add:/spec/tags"})
    sent = {**fields(rows), "/spec/tags/0": "x", "/spec/size": "3", "/spec/mode": "Cluster"}
    made = await admin.post(NEW, {**sent, "action": "create"})
    assert (made.status, made.headers["Location"]) == (303, f"{LIST}/forms/one?ns=forms")
    found = get(kind, "one")
    assert found["spec"] == {"size": 3, "mode": "Cluster", "tags": ["x"]}
    assert found["metadata"]["managedFields"][0]["manager"] == "olm-console"
    path = f"{LIST}/forms/one/edit"
    for changed in ({"/spec/size": "4"}, {"/spec/mode": ""}):
        edited = await admin.post(path, {**fields(await admin.get(path)), **changed, "action": "save"})
        assert (edited.status, words(edited)) == (303, "")
    assert get(kind, "one")["spec"] == {"size": 4, "tags": ["x"]}
    again = await admin.post(NEW, {**sent, "action": "create"})
    assert "there is one of this name already" in words(again)


async def test_form_and_yaml_are_one_document(admin: Browser, clean: None) -> None:
    sent = {**fields(await admin.get(NEW)), "/spec/note": "hello", "metadata.name": "two"}
    shown = await admin.post(f"{LIST}/new/convert?ns=forms", {**sent, "action": "yaml"})
    text = fields(shown)["yaml"]
    assert "note: hello" in text
    more = text.replace("note: hello", "note: hello\n  unknown: kept")
    back = await admin.post(NEW, {**fields(shown), "yaml": more, "action": "form"})
    assert fields(back)["/spec/note"] == "hello"
    assert "unknown" in fields(back)["base"]
    broken = await admin.post(NEW, {**fields(shown), "yaml": "a: [", "action": "form"})
    assert (broken.status, "Line " in words(broken)) == (422, True)
    other = await admin.post(
        NEW, {**fields(shown), "yaml": "apiVersion: v1\nkind: Secret\nmetadata: {}\n", "action": "create"}
    )
    assert f"apiVersion must be {GROUP}/v1" in words(other)


async def test_only_the_changed_field_is_written(kind: Cluster, admin: Browser, instance: Object) -> None:
    path = f"{LIST}/forms/mine/edit"
    sent = fields(await admin.get(path))
    saved = await admin.post(path, {**sent, "/spec/mode": "Single", "action": "save"})
    assert saved.status == 303
    found = get(kind, "mine")
    assert found["spec"] == {**instance["spec"], "mode": "Single"}
    (own,) = [each for each in found["metadata"]["managedFields"] if each["manager"] == "olm-console"]
    assert (own["operation"], own["fieldsV1"]) == ("Apply", {"f:spec": {"f:mode": {}}})
    sent = fields(await admin.get(path))
    conflict = await admin.post(path, {**sent, "/spec/size": "4", "action": "save"})
    assert 'conflict with "other"' in words(conflict)
    assert get(kind, "mine")["spec"]["size"] == 2
    assert (await admin.post(path, {**fields(conflict), "action": "force"})).status == 303
    assert get(kind, "mine")["spec"] == {**instance["spec"], "mode": "Single", "size": 4}
    sent = fields(await admin.get(path))
    removed = await admin.post(path, {**sent, "/spec/note": "", "action": "force"})
    assert removed.status == 303
    assert "note" not in get(kind, "mine")["spec"]


async def test_what_others_change_meanwhile_is_not_overwritten(kind: Cluster, admin: Browser, instance: Object) -> None:
    path = f"{LIST}/forms/mine/edit"
    sent = fields(await admin.get(path))
    kind.kubectl(
        "patch", f"{PLURAL}.{GROUP}", "mine", "-n", "forms", "--type=merge", "-p", '{"spec":{"note":"newer","size":5}}'
    )
    moved = await admin.post(path, {**sent, "/spec/mode": "Single", "/spec/size": "6", "action": "force"})
    assert "spec.size was changed meanwhile. you changed it too" in words(moved)
    assert get(kind, "mine")["spec"]["size"] == 5
    assert (await admin.post(path, {**fields(moved), "action": "force"})).status == 303
    assert get(kind, "mine")["spec"] == {**instance["spec"], "note": "newer", "mode": "Single", "size": 6}


async def test_users_see_and_do_what_rbac_lets_them(kind: Cluster, admin: Browser, instance: Object) -> None:
    viewer, developer, nobody = [await logged_in(admin, kind, user) for user in ("viewer", "developer", "nobody")]
    page = await viewer.get(NEW)
    assert f"You may not create {PLURAL}.{GROUP} in namespace forms." in words(page)
    assert 'aria-disabled="true"' in page.text
    sent = {**fields(page), "metadata.name": "no", "metadata.namespace": "forms", "action": "create"}
    refused = await viewer.post(NEW, sent)
    assert "cannot create resource" in words(refused)
    assert (await developer.get(NEW)).status == 200
    made = await developer.post(
        NEW, {**fields(await developer.get(NEW)), "metadata.name": "theirs", "action": "create"}
    )
    assert made.status == 303
    elsewhere = {
        **fields(await developer.get(NEW)),
        "metadata.name": "x",
        "metadata.namespace": "default",
        "action": "create",
    }
    assert "cannot create resource" in words(await developer.post(NEW, elsewhere))
    path = f"{LIST}/forms/mine"
    assert "You may not patch" in (await viewer.get(f"{path}/edit")).text
    sent = {**fields(await viewer.get(f"{path}/edit")), "/spec/size": "8", "action": "force"}
    assert (await viewer.post(f"{path}/edit", sent)).status == 403
    assert (await viewer.post(f"{path}/delete", {"uid": instance["metadata"]["uid"]}, page=path)).status == 403
    assert get(kind, "mine")["spec"]["size"] == 2
    assert (await nobody.get(path)).status == 403


NOWHERE = [
    pytest.param(f"/instances/{GROUP}/v1/secrets", id="a kind that is not there"),
    pytest.param("/instances/apps/v1/deployments", id="a kind of Kubernetes"),
    pytest.param(f"/instances/{GROUP}/v9/{PLURAL}", id="a version that is not served"),
    pytest.param(f"{LIST}/forms/gone", id="an instance that is not there"),
    pytest.param("/instances/..%2Fx/v1/y", id="a group with a way up"),
    pytest.param(f"{LIST}/forms/..%2F..%2Fsecrets", id="a name with a way up"),
]


@pytest.mark.parametrize("path", NOWHERE)
async def test_names_that_are_no_kinds_and_no_names(admin: Browser, path: str) -> None:
    assert (await admin.get(path)).status == 404
