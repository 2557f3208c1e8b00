"""The message of Ready during a deletion names what is removed, released or waited for."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.api.bundledeployments import FINALIZER
from rukpak.bundledeployment.deletion.retention import Retention
from rukpak.bundledeployment.plan import (
    Announce,
    CheckRemovalPermissions,
    DeleteObjects,
    Done,
    Keep,
    LeaveNamespaces,
    ListForeignObjects,
    NamespaceRemoval,
    Plan,
    Prune,
    ReadUsage,
)
from tests.unit.rukpak.bundledeployment.test_account_rules import with_account
from tests.unit.rukpak.bundledeployment.worlds import SECRET, deleting, member, namespace, report_of

OURS, OTHER = namespace(), namespace("other", created=False)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (DeleteObjects("custom resources", ()), "removing custom resources"),
        (ReadUsage(namespaces=(OURS,)), "reading what is in Namespace ship-system"),
        (ListForeignObjects((OURS,)), "reading what is in Namespace ship-system"),
        (Announce(), "removing Namespace ship-system"),
        (LeaveNamespaces((OTHER,), (OURS,)), "leaving Namespace other; removing Namespace ship-system"),
        (Prune(release=(member(SECRET),)), "releasing Secret ship-system/log"),
        (
            Prune(namespaces=(NamespaceRemoval(OURS, Retention.RELEASE), NamespaceRemoval(OTHER, Retention.LEAVE))),
            "releasing Namespace ship-system; leaving Namespace other",
        ),
        (CheckRemovalPermissions("", ()), "reading which permissions ServiceAccount team/installer has"),
        (Keep(), "removing the BundleDeployment"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value,
)
def test_what_is_removed_or_waited_for_is_named(plan: Plan, message: str) -> None:
    assert ready_of(Done(plan)) == message


def test_finalizers_of_others_are_waited_for() -> None:
    text = "waiting until others remove their finalizers: foregroundDeletion, test.example.com/hold"
    others = ["test.example.com/hold", "foregroundDeletion"]
    assert ready_of(Done(Keep()), finalizers=others) == text
    assert ready_of(Done(Keep()), finalizers=[*others, FINALIZER]) == text


def ready_of(outcome: Done, **metadata: Any) -> str:
    """The message of Ready after this step of a deletion."""
    seen = with_account(
        deleting(**{"generation": 2, **metadata}), namespaces={each.name: each for each in (OURS, OTHER)}
    )
    written = report_of(seen, outcome).status
    return next(each.message for each in written.conditions if each.type == "Ready")
