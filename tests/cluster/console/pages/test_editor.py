"""The YAML of an instance is edited: only what changed is written, conflicts are named, nothing of others is overwritten."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from devcluster.cluster import Cluster
from tests.cluster.console.pages.conftest import GROUP, KIND, LIST, PLURAL, Object, fields, words
from tests.console import Browser

pytestmark = pytest.mark.console

PATH = f"{LIST}/forms/edited/yaml"


@pytest.fixture
def instance(kind: Cluster) -> Iterator[Object]:
    """An instance that somebody else has applied."""
    metadata = {"name": "edited", "namespace": "forms"}
    body = {"apiVersion": f"{GROUP}/v1", "kind": KIND, "metadata": metadata, "spec": {"size": 2, "note": "theirs"}}
    kind.kubectl("apply", "--server-side", "--field-manager=other", "-f", "-", input=json.dumps(body))
    yield get(kind)
    kind.kubectl("delete", f"{PLURAL}.{GROUP}", "edited", "-n", "forms", "--ignore-not-found")


def get(cluster: Cluster) -> Object:
    found: Object = json.loads(cluster.kubectl("get", f"{PLURAL}.{GROUP}", "edited", "-n", "forms", "-o", "json"))
    return found


def editor(page: str) -> str:
    """The part of the page with the editor."""
    return page.partition("data-editor>")[2]


async def test_an_edit_is_checked_and_saved(kind: Cluster, admin: Browser, instance: Object) -> None:
    page = await admin.get(PATH)
    sent = fields(page)
    assert "managedFields" not in sent["text"]
    edited = sent["text"].replace("note: theirs", "note: theirs\n  parent: new")
    checked = await admin.post(PATH, {**sent, "text": edited, "action": "check"})
    assert (checked.status, "spec.parent" in words(checked)) == (200, True)
    assert get(kind)["spec"] == instance["spec"]
    saved = await admin.post(PATH, {**sent, "text": edited, "action": "save"})
    assert (saved.status, saved.headers["Location"]) == (303, PATH)
    assert get(kind)["spec"] == {**instance["spec"], "parent": "new"}


async def test_conflicts_name_the_other_manager(kind: Cluster, admin: Browser, instance: Object) -> None:
    sent = fields(await admin.get(PATH))
    edited = {**sent, "text": sent["text"].replace("note: theirs", "note: ours")}
    conflict = await admin.post(PATH, {**edited, "action": "save"})
    assert conflict.status == 409
    assert re.search(r'spec\.note Line \d+ conflict with "other"', words(conflict))
    assert get(kind)["spec"]["note"] == "theirs"
    assert (await admin.post(PATH, {**edited, "action": "force"})).status == 303
    assert get(kind)["spec"]["note"] == "ours"
    sent = fields(await admin.get(PATH))
    without = {**sent, "text": sent["text"].replace("  size: 2\n", "  size: 2\n").replace("  note: ours\n", "")}
    assert (await admin.post(PATH, {**without, "action": "save"})).status == 303
    assert "note" not in get(kind)["spec"]


async def test_changes_of_others_are_shown_beside_ours(kind: Cluster, admin: Browser, instance: Object) -> None:
    sent = fields(await admin.get(PATH))
    kind.kubectl(
        "patch", f"{PLURAL}.{GROUP}", "edited", "-n", "forms", "--type=merge", "-p", '{"spec":{"size":4,"note":"x"}}'
    )
    edited = sent["text"].replace("size: 2", "size: 3")
    moved = await admin.post(PATH, {**sent, "text": edited, "action": "save"})
    assert moved.status == 409
    assert re.search(r"spec\.size Line \d+ 2 4 3 you changed it too", words(moved))
    assert re.search(r"spec\.note Line \d+ theirs x", words(moved))
    assert get(kind)["spec"] == {"size": 4, "note": "x"}
    assert (await admin.post(PATH, {**fields(moved), "action": "force"})).status == 303
    assert get(kind)["spec"] == {"size": 3, "note": "x"}


BAD = [
    pytest.param("a: [", "Line 2 : ", id="no YAML"),
    pytest.param("[]", "it is no object", id="a list"),
    pytest.param("kind: Secret\napiVersion: v1\nmetadata: {name: x}", "must stay", id="another object"),
    pytest.param("x: &a [*a]", "Nothing was saved", id="an alias of itself"),
]


@pytest.mark.parametrize(("text", "expected"), BAD)
async def test_what_is_no_object_is_refused(
    kind: Cluster, admin: Browser, instance: Object, text: str, expected: str
) -> None:
    answer = await admin.post(PATH, {**fields(await admin.get(PATH)), "text": text, "action": "force"})
    assert (answer.status, expected in words(answer)) == (422, True)
    assert get(kind)["metadata"]["resourceVersion"] == instance["metadata"]["resourceVersion"]


async def test_what_the_api_server_refuses_stands_at_the_field(admin: Browser, instance: Object) -> None:
    sent = fields(await admin.get(PATH))
    answer = await admin.post(PATH, {**sent, "text": sent["text"].replace("size: 2", "size: 70"), "action": "force"})
    assert answer.status == 409
    line = fields(answer)["text"].splitlines().index("  size: 70") + 1
    assert f"spec.size Line {line} " in words(answer)
    assert f'<a href="#text" data-line="{line}">' in answer.text
    assert "less than or equal to 9" in words(answer)


async def test_an_origin_that_was_made_up_changes_nothing(kind: Cluster, admin: Browser, instance: Object) -> None:
    sent = fields(await admin.get(PATH))
    for origin in ("", "x", "[]", '{"metadata":{}}'):
        assert (await admin.post(PATH, {**sent, "origin": origin, "action": "force"})).status == 400
    other = json.dumps({"metadata": {"name": "other", "namespace": "forms"}})
    assert (await admin.post(PATH, {**sent, "origin": other, "action": "force"})).status == 422


async def test_what_is_wrong_while_a_person_types_is_no_error_of_the_browser(admin: Browser, instance: Object) -> None:
    sent = fields(await admin.get(PATH))
    for text, expected in (("a: [", "Line 2"), (sent["text"].replace("note: theirs", "note: ours"), "Others manage")):
        answer = await admin.post(PATH, {**sent, "text": text, "action": "check", "typed": "1"})
        assert (answer.status, expected in words(answer)) == (200, True)
