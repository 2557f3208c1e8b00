"""What a person does with an Operator: each action has a review, changes one thing, and is refused to those who may not."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from devcluster.cluster import Cluster
from tests.cluster.console.pages.conftest import Object, fields, logged_in, words
from tests.console import Browser

pytestmark = pytest.mark.console

KIND = "operator.operators.operatorframework.io"
PROTECTION = "operators.operatorframework.io/deletion-protection"
APPROVED = "operators.operatorframework.io/approved-version"
PATH = "/operators/acted"
AVAILABLE = {
    "version": "1.1.0", "bundle": "p.v1.1.0", "image": "example.com/p@sha256:" + "0" * 64, "catalog": "c", "channel": "stable",
    "reason": "ApprovalRequired", "message": "1.1.0 waits for approval",
}  # fmt: skip


@pytest.fixture
def operator(kind: Cluster) -> Iterator[Object]:
    """An Operator for which 1.1.0 waits."""
    metadata = {"name": "acted"}
    body = {"apiVersion": "operators.operatorframework.io/v1alpha1", "kind": "Operator", "metadata": metadata}
    kind.kubectl("apply", "-f", "-", input=json.dumps({**body, "spec": {"packageName": "p", "approval": "Manual"}}))
    installed = {"name": "p.v1.0.0", "version": "1.0.0", "catalog": "c", "channel": "stable", "apis": []}
    status = {"observedGeneration": 1, "installed": installed, "available": AVAILABLE}
    kind.kubectl("patch", KIND, "acted", "--subresource=status", "--type=merge", "-p", json.dumps({"status": status}))
    yield get(kind)
    kind.kubectl("delete", KIND, "acted", "--ignore-not-found")


def get(cluster: Cluster) -> Object:
    found: Object = json.loads(cluster.kubectl("get", KIND, "acted", "-o", "json"))
    return found


async def test_a_version_is_approved_after_a_review(kind: Cluster, admin: Browser, operator: Object) -> None:
    page = await admin.get(f"{PATH}/upgrade")
    assert "Waits 1.1.0 from channel" in words(page)
    assert "olm approve acted --version 1.1.0" in words(page)
    assert "No preview is there." in words(page)
    sent = fields(page)
    assert (await admin.post(f"{PATH}/approve", sent)).headers["Location"] == f"{PATH}/upgrade"
    assert APPROVED not in get(kind)["metadata"].get("annotations", {})
    kind.kubectl("label", KIND, "acted", "somebody=else")  # no change of its spec
    done = await admin.post(f"{PATH}/approve", {**sent, "agree": "yes"})
    assert (done.status, done.headers["Location"]) == (303, PATH)
    assert get(kind)["metadata"]["annotations"][APPROVED] == "1.1.0"
    assert get(kind)["spec"] == operator["spec"]
    await admin.post(f"{PATH}/approve", {**sent, "agree": "yes", "version": "6.6.6"})
    assert get(kind)["metadata"]["annotations"][APPROVED] == "1.1.0"


ACTIONS = [
    pytest.param("pause", {}, {"paused": True}, id="pause"),
    pytest.param("exclude?version=1.1.0", {}, {"excludedVersions": ["1.1.0"]}, id="not this version"),
    pytest.param(
        "rollback?version=0.9.0", {}, {"version": "0.9.0", "upgradeConstraintPolicy": "Ignore"}, id="an older version"
    ),
]


@pytest.mark.parametrize(("action", "more", "changed"), ACTIONS)
async def test_an_action_changes_one_thing(
    kind: Cluster, admin: Browser, operator: Object, action: str, more: Object, changed: Object
) -> None:
    page = await admin.get(f"{PATH}/{action}")
    assert (page.status, "olm " in words(page) or "kubectl " in words(page)) == (200, True)
    target = f"{PATH}/{action.partition('?')[0]}"
    assert get(kind)["spec"] == operator["spec"]
    assert (await admin.post(target, {**fields(page), **more})).headers["Location"] == PATH
    assert get(kind)["spec"] == {**operator["spec"], **changed}


async def test_versions_that_others_exclude_stay_theirs(kind: Cluster, admin: Browser, operator: Object) -> None:
    spec = {"packageName": "p", "excludedVersions": ["0.5.0"]}
    body = {"apiVersion": operator["apiVersion"], "kind": "Operator", "metadata": {"name": "acted"}, "spec": spec}
    kind.kubectl(
        "apply", "--server-side", "--field-manager=gitops", "--force-conflicts", "-f", "-", input=json.dumps(body)
    )
    for version in ("1.1.0", "1.2.0"):
        page = await admin.get(f"{PATH}/exclude?version={version}")
        assert (await admin.post(f"{PATH}/exclude", fields(page))).status == 303
    assert sorted(get(kind)["spec"]["excludedVersions"]) == ["0.5.0", "1.1.0", "1.2.0"]
    kind.kubectl(
        "apply",
        "--server-side",
        "--field-manager=gitops",
        "-f",
        "-",
        input=json.dumps({**body, "spec": {"packageName": "p"}}),
    )
    assert sorted(get(kind)["spec"]["excludedVersions"]) == ["1.1.0", "1.2.0"]


async def test_an_excluded_version_is_permitted_again(kind: Cluster, admin: Browser, operator: Object) -> None:
    for version in ("1.1.0", "1.2.0"):
        await admin.post(f"{PATH}/exclude", fields(await admin.get(f"{PATH}/exclude?version={version}")))
    shown = await admin.get(PATH)
    assert "Excluded versions 1.1.0 Excluded Permit again" in words(shown)
    assert f'href="{PATH}/permit?version=1.1.0"' in shown.text
    page = await admin.get(f"{PATH}/permit?version=1.1.0")
    assert "olm exclude acted 1.1.0 --undo --force" in words(page), "the command has another field manager"
    assert (await admin.post(f"{PATH}/permit", fields(page))).headers["Location"] == PATH
    assert get(kind)["spec"] == {**operator["spec"], "excludedVersions": ["1.2.0"]}
    await admin.post(f"{PATH}/permit", fields(page))
    assert "spec.excludedVersions does not have 1.1.0." in words(await admin.get(PATH))
    await admin.post(f"{PATH}/permit", fields(await admin.get(f"{PATH}/permit?version=1.2.0")))
    assert get(kind)["spec"] == operator["spec"]
    assert "spec.excludedVersions does not have it." in words(await admin.get(f"{PATH}/permit?version=1.2.0"))


async def test_a_version_that_others_exclude_is_permitted_after_a_tick(
    kind: Cluster, admin: Browser, operator: Object
) -> None:
    spec = {"packageName": "p", "excludedVersions": ["0.5.0", "1.1.0"]}
    body = {"apiVersion": operator["apiVersion"], "kind": "Operator", "metadata": {"name": "acted"}, "spec": spec}
    manager = ("--server-side", "--field-manager=gitops", "--force-conflicts")
    kind.kubectl("apply", *manager, "-f", "-", input=json.dumps(body))
    path = f"{PATH}/permit?version=1.1.0"
    page = await admin.get(path)
    assert "It is excluded by gitops. A tool that applies this again excludes it again." in words(page)
    assert "olm exclude acted 1.1.0 --undo --force" in words(page)
    sent = {name: value for name, value in fields(page).items() if name != "agree"}
    assert (await admin.post(f"{PATH}/permit", sent)).headers["Location"] == path
    assert get(kind)["spec"]["excludedVersions"] == ["0.5.0", "1.1.0"]
    assert (await admin.post(f"{PATH}/permit", {**sent, "agree": "yes"})).headers["Location"] == PATH
    assert get(kind)["spec"]["excludedVersions"] == ["0.5.0"]


async def test_a_pause_ends(kind: Cluster, admin: Browser, operator: Object) -> None:
    await admin.post(f"{PATH}/pause", fields(await admin.get(f"{PATH}/pause")))
    await admin.post(f"{PATH}/resume", fields(await admin.get(f"{PATH}/resume")))
    assert get(kind)["spec"] == operator["spec"]


async def test_an_operator_is_protected_from_deletion_and_released(
    kind: Cluster, admin: Browser, operator: Object
) -> None:
    assert f'href="{PATH}/protect"' in (await admin.get(PATH)).text
    page = await admin.get(f"{PATH}/protect")
    assert f"{PROTECTION}=true" in words(page)
    await admin.post(f"{PATH}/protect", fields(page))
    assert get(kind)["metadata"]["annotations"][PROTECTION] == "true"
    assert f'href="{PATH}/unprotect"' in (await admin.get(PATH)).text
    await admin.post(f"{PATH}/unprotect", fields(await admin.get(f"{PATH}/unprotect")))
    assert PROTECTION not in get(kind)["metadata"].get("annotations", {})
    assert get(kind)["spec"] == operator["spec"]


async def test_what_runs_is_excluded_with_a_warning_and_once(kind: Cluster, admin: Browser, operator: Object) -> None:
    page = await admin.get(f"{PATH}/exclude?version=1.0.0")
    assert "1.0.0 runs. It runs 1.0.0, which stays, and the Operator is not Ready" in words(page)
    for _ in range(2):
        assert (await admin.post(f"{PATH}/exclude", fields(page))).headers["Location"] == PATH
    assert get(kind)["spec"] == {**operator["spec"], "excludedVersions": ["1.0.0"]}
    assert "spec.excludedVersions has 1.0.0 already." in words(await admin.get(PATH))


async def test_another_version_is_pinned(kind: Cluster, admin: Browser, operator: Object) -> None:
    page = await admin.get(f"{PATH}/upgrade?version=1.2.3")
    assert "olm upgrade acted --version 1.2.3" in words(page)
    assert "This may come to nothing. acted: no catalog upgrades 1.0.0 to 1.2.3" in words(page)
    await admin.post(f"{PATH}/version", fields(page))
    assert get(kind)["spec"] == {**operator["spec"], "version": "1.2.3"}


async def test_a_change_of_somebody_else_is_not_overwritten(kind: Cluster, admin: Browser, operator: Object) -> None:
    sent = fields(await admin.get(f"{PATH}/rollback?version=0.9.0"))
    kind.kubectl("patch", KIND, "acted", "--type=merge", "-p", '{"spec":{"channel":"beta"}}')
    await admin.post(f"{PATH}/rollback", sent)
    assert get(kind)["spec"] == {**operator["spec"], "channel": "beta"}
    kind.kubectl("delete", KIND, "acted")
    assert (await admin.post(f"{PATH}/rollback", sent)).status == 404


async def test_who_may_not_sees_why_and_is_refused(kind: Cluster, admin: Browser, operator: Object) -> None:
    viewer = await logged_in(admin, kind, "viewer")
    for action in ("upgrade", "pause", "protect", "exclude", "permit?version=0.9.0", "rollback?version=0.9.0"):
        page = await viewer.get(f"{PATH}/{action}")
        assert "You may not patch operators.operators.operatorframework.io acted." in words(page), action
        assert 'aria-disabled="true"' in page.text
    page = await viewer.get(f"{PATH}/pause")
    assert "kubectl auth can-i patch operators.operators.operatorframework.io/acted" in words(page)
    assert (await viewer.post(f"{PATH}/pause", fields(page))).status == 403
    page = await viewer.get(f"{PATH}/uninstall")
    assert "You may not delete" in words(page)
    assert (await viewer.post(f"{PATH}/uninstall", fields(page))).status == 403
    assert get(kind)["spec"] == operator["spec"]


async def test_an_operator_is_uninstalled_after_its_consequences_were_shown(
    kind: Cluster, admin: Browser, operator: Object
) -> None:
    page = await admin.get(f"{PATH}/uninstall")
    assert "Operator acted (1.0.0 from catalog c, channel stable) will be deleted." in words(page)
    assert "olm uninstall acted" in words(page)
    assert (await admin.post(f"{PATH}/uninstall", {**fields(page), "uid": "other"})).status == 409
    done = await admin.post(f"{PATH}/uninstall", fields(page))
    assert (done.status, done.headers["Location"]) == (303, "/operators")
    assert kind.kubectl("get", KIND, "acted", "--ignore-not-found") == ""


async def test_an_operator_is_changed_by_its_form(kind: Cluster, admin: Browser, operator: Object) -> None:
    page = await admin.get(f"{PATH}/edit")
    sent = fields(page)
    wrong = await admin.post(f"{PATH}/edit/review", {**sent, "follow": "range", "range": "nonsense!"})
    assert (wrong.status, "a range is" in words(wrong)) == (422, True)
    review = await admin.post(
        f"{PATH}/edit/review", {**sent, "follow": "range", "range": "1.x", "rollback": "OnFailure"}
    )
    assert "spec.version not set 1.x" in words(review)
    assert "spec.install not set rollback: OnFailure" in words(review)
    assert get(kind)["spec"] == operator["spec"]
    done = await admin.post(f"{PATH}/edit", fields(review))
    assert (done.status, done.headers["Location"]) == (303, PATH)
    assert get(kind)["spec"] == {**operator["spec"], "version": "1.x", "install": {"rollback": "OnFailure"}}
