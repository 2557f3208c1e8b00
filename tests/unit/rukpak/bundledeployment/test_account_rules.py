"""The rules about the account of a BundleDeployment, before anything is applied or deleted as it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from olmkit.api.bundledeployments import ABANDON_ANNOTATION, BundleDeployment, Reason
from olmkit.api.impersonation import Account
from olmkit.crd_safety.evidence import Evidence, Form
from olmkit.crd_safety.problem import InvalidObject
from olmkit.errors import Blocked, Waiting
from rukpak.bundledeployment.account_rules import (
    AccountPolicy,
    await_account_to_delete,
    lacking_permissions,
    namespace_permissions,
    shown_to,
)
from rukpak.bundledeployment.decide import decide
from rukpak.bundledeployment.plan import (
    CheckPermissions,
    CheckRemovalPermissions,
    DeleteObjects,
    Done,
    Keep,
    RemoveFinalizer,
)
from rukpak.bundledeployment.world import ApplyRejected, BriefWait, ExistingObjects, Refused, World
from rukpak.permissions.rules import Right
from tests.unit.rukpak.bundledeployment.worlds import (
    NOW,
    NS,
    SECRET,
    deleting,
    installed,
    inventoried,
    namespace,
    plan_of,
    raw,
    recorded,
    rendered,
    report_of,
    unpacked,
    world,
)

TEAM = Account("team", "installer")
SUITE = AccountPolicy(suite_namespaces=("olm-suite-system", "olm-suite-keys"))
MISSING = frozenset({Right("team", "", "configmaps", "log", "create")})


def with_account(seen: World, **other: Any) -> World:
    """The BundleDeployment names an account."""
    obj = {**seen.raw, "spec": {**seen.raw["spec"], "serviceAccount": TEAM._asdict()}}
    return replace(seen, raw=obj, deployment=BundleDeployment.load(obj), **other)


def permitted(seen: World) -> World:
    """The account was found to have all permissions that the deletion needs."""
    plan = plan_of(seen)
    assert isinstance(plan, CheckRemovalPermissions)
    return replace(seen, permitted=frozenset({plan.identity}))


@pytest.mark.parametrize(
    ("policy", "account", "refusal"),
    [
        pytest.param(SUITE, None, "", id="rukpak itself installs"),
        pytest.param(
            replace(SUITE, is_required=True),
            None,
            "spec.serviceAccount is required, because rukpak runs with --require-service-account: name an account with the "
            "permissions that the bundle needs; that of an Operator is in its spec.install.serviceAccount, and that of a "
            "ClusterExtension in its annotation operators.operatorframework.io/service-account",
            id="one is required",
        ),
        pytest.param(replace(SUITE, is_required=True), TEAM, "", id="one is required and there"),
        pytest.param(SUITE, Account("olm-suite-system", "rukpak"), "namespace of olm-suite", id="rukpak as an account"),
        pytest.param(
            SUITE, Account("olm-suite-keys", "default"), "namespace of olm-suite", id="an account of the keys"
        ),
        pytest.param(SUITE, Account("", "installer"), "namespace is required", id="no namespace"),
    ],
)
def test_which_accounts_rukpak_acts_as(policy: AccountPolicy, account: Account | None, refusal: str) -> None:
    assert refusal in policy.refusal(account)
    assert bool(refusal) == bool(policy.refusal(account))


def test_the_namespace_of_an_account_is_that_of_the_installation() -> None:
    obj = raw()
    obj["spec"] |= {"serviceAccount": {"name": "installer"}, "installNamespace": "ship-system"}
    assert world(obj).account == Account("ship-system", "installer")


def outcome(seen: World) -> Any:
    return decide(seen).plan


@pytest.mark.parametrize(
    ("facts", "error"),
    [
        pytest.param({"account_refusal": "no"}, Refused, id="refused"),
        pytest.param({"account_exists": False}, Waiting, id="it does not exist"),
        pytest.param({"account_exists": None}, BriefWait, id="not known yet"),
        pytest.param({"account_unguarded": "no webhook"}, Waiting, id="nothing guards who names it"),
    ],
)
@pytest.mark.parametrize("seen", [inventoried(unpacked()), installed()], ids=["new", "installed"])
def test_nothing_is_applied_without_a_usable_account(seen: World, facts: dict[str, Any], error: type) -> None:
    assert type(outcome(with_account(seen, **facts))) is error


def test_a_deletion_that_may_not_be_done_says_so_and_how_to_leave_everything_behind() -> None:
    seen = with_account(deleting(), account_refusal="spec.serviceAccount is required")
    with pytest.raises(Blocked) as error:
        await_account_to_delete(seen)
    assert error.value.message == (
        "nothing is deleted: spec.serviceAccount is required; or "
        "kubectl annotate bundledeployment ship core.rukpak.io/abandon=true leaves everything behind"
    )


def test_permissions_are_checked_before_anything_is_applied() -> None:
    seen = with_account(unpacked())
    plan = plan_of(seen)
    assert isinstance(plan, CheckPermissions)
    assert not isinstance(plan_of(replace(seen, permitted=frozenset({plan.identity}))), CheckPermissions)
    others = with_account(unpacked(content=rendered(digest="v2")), permitted=frozenset({plan.identity}))
    assert not isinstance(plan_of(others), CheckPermissions), "the same permissions are needed"
    assert isinstance(plan_of(replace(seen, permitted=frozenset({f"{plan.identity} of another"}))), CheckPermissions)


def test_nothing_is_checked_while_nothing_is_applied() -> None:
    assert isinstance(plan_of(with_account(installed())), Keep)
    refused = with_account(
        installed(), is_refused=True
    )  # as a request about a certificate is, which is no object of the bundle
    plan = plan_of(refused)
    assert isinstance(plan, CheckPermissions)
    assert isinstance(plan_of(replace(refused, permitted=frozenset({plan.identity}))), Keep)
    assert not isinstance(plan_of(unpacked()), CheckPermissions)


def test_namespaces_that_others_created_are_read_alone() -> None:
    seen = with_account(recorded(unpacked()))
    content = rendered()
    assert {each.verb for each in namespace_permissions(seen, content)} == {"create", "delete", "get", "patch"}
    foreign = replace(seen, namespaces={NS.name: namespace(created=False)})
    assert list(namespace_permissions(foreign, content)) == [Right(NS.name, "", "namespaces", NS.name, "get")]


def test_missing_permissions_are_all_in_the_status_until_they_are_there() -> None:
    seen = with_account(inventoried(unpacked()))
    error = lacking_permissions(seen, rendered(), MISSING)
    assert isinstance(error, ApplyRejected)
    written = report_of(seen, error).status
    found = {each.type: f"{each.status}/{each.reason}" for each in written.conditions}
    assert (found["Installed"], found["Stalled"]) == ("False/InstallFailed", "True/Blocked")
    assert "lacks permissions to install the bundle, so that nothing is applied: create configmaps log" in error.message
    assert "olm bundle permissions ship" in error.message
    assert written.missing_permissions is not None
    assert written.missing_permissions.dump() == {
        "serviceAccount": "team/installer",
        "rules": [
            {
                "namespace": "team",
                "apiGroups": [""],
                "resources": ["configmaps"],
                "resourceNames": ["log"],
                "verbs": ["create"],
            }
        ],
    }
    assert report_of(seen, Done(Keep())).status.missing_permissions is None


def test_an_account_that_is_missing_has_a_reason_of_its_own() -> None:
    seen = with_account(installed(), account_exists=False)
    found = {each.type: f"{each.status}/{each.reason}" for each in report_of(seen, outcome(seen)).status.conditions}
    assert (found["Ready"], found["Reconciling"]) == ("False/WaitingForServiceAccount", "True/WaitingForServiceAccount")
    assert found["Installed"] == "True/InstallationSucceeded"


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        pytest.param(installed(), "the installed bundle is not maintained: no", id="nothing is to be repaired"),
        pytest.param(replace(installed(), labeled={}), "cannot repair: no", id="objects were deleted"),
        pytest.param(
            replace(installed(), labeled={}, unsynced=frozenset({SECRET[:2]})),
            "the installed bundle is not maintained: no",
            id="objects are not listed yet",
        ),
    ],
)
def test_what_is_installed_and_may_not_be_changed_is_not_called_broken(seen: World, words: str) -> None:
    seen = replace(seen, account_refusal="no")
    found = {each.type: each for each in report_of(seen, outcome(seen)).status.conditions}
    assert {found[kind].message for kind in ("Ready", "Stalled")} == {words}
    assert [found[kind].reason for kind in ("Ready", "Stalled")] == ["Blocked", "Blocked"]
    assert found["Installed"].status == "True"


def test_a_deletion_waits_for_the_account_or_leaves_everything_behind() -> None:
    seen = permitted(with_account(deleting(installed())))
    assert isinstance(plan_of(seen), DeleteObjects)
    gone = replace(seen, account_exists=False)
    error = outcome(gone)
    assert isinstance(error, Waiting)
    assert (error.reason, error.after > timedelta(minutes=1)) == (Reason.REMOVING, True)
    assert f"kubectl annotate bundledeployment ship {ABANDON_ANNOTATION}=true" in error.message
    assert isinstance(outcome(replace(seen, account_refusal="no")), Blocked)
    abandoned = with_account(deleting(installed(), annotations={ABANDON_ANNOTATION: "true"}), account_exists=False)
    assert isinstance(plan_of(abandoned), RemoveFinalizer)
    assert isinstance(plan_of(permitted(replace(abandoned, account_exists=True))), DeleteObjects)


def test_custom_resources_in_any_namespace_have_no_names_in_the_status_of_an_account() -> None:
    found = InvalidObject("secret-project", "launch", "spec.size: maximum")
    checked = ExistingObjects("x", NOW, evidence={Form("boats", "v1", "v2"): Evidence(1, (found,), 1, (found,), 1)})
    assert shown_to(world(), checked) is checked
    shown = shown_to(with_account(world()), checked)
    assert shown is not None
    (evidence,) = shown.evidence.values()
    assert [str(each) for each in (*evidence.invalid, *evidence.lossy)] == ["a custom resource: spec.size: maximum"] * 2
    assert (evidence.count, evidence.invalid_count) == (1, 1)


def test_a_deletion_does_not_wait_for_the_webhooks_that_guard_accounts() -> None:
    seen = with_account(deleting(installed()), account_unguarded="no webhook")
    assert isinstance(plan_of(permitted(seen)), DeleteObjects)
