"""The states of Operators, and the notes at the top of their pages."""

from __future__ import annotations

from typing import Any

import pytest

from console.views.operator_notes import notes, waiting
from console.views.operators import OperatorsQuery, operator_row, operators_view
from console.views.states import needs_attention, state_badge, upgrade_waits
from olmctl.questions.extensions import ExtensionProblem

RUNS = {"version": "1.1.0", "catalog": "c", "channel": "stable"}
READY, RETRYING = ("Ready", "True", "Succeeded"), ("Reconciling", "True", "Retrying")
NOT_PULLED = ("Installed", "False", "InstallationFailed")


def operator(*conditions: tuple[str, str, str], reason: str = "", runs: bool = True, **spec: Any) -> dict[str, Any]:
    """An Operator with these conditions, for which 1.2.0 is available for a reason."""
    available = {"version": "1.2.0", "channel": "stable", "catalog": "c", "reason": reason, "message": "a message"}
    return {
        "metadata": {"name": "alpha", "generation": 1},
        "spec": {"packageName": "p", **spec},
        "status": {
            "observedGeneration": 1,
            "wantedVersion": "1.2.0",
            "conditions": [
                {"type": kind, "status": status, "reason": why, "message": f"message of {kind}"}
                for kind, status, why in conditions
            ],
            **({"installed": RUNS} if runs else {}),
            **({"available": available} if reason else {}),
        },
    }


@pytest.mark.parametrize(
    ("given", "badge", "attention"),
    [
        pytest.param(operator(READY), ("ok", "Ready"), False, id="it is ready"),
        pytest.param(
            operator(("Ready", "True", "UpgradeAvailable"), reason="ApprovalRequired"),
            ("ok", "Ready"),
            False,
            id="an upgrade that waits leaves what runs ready",
        ),
        pytest.param(
            operator(("Ready", "True", "Paused"), paused=True), ("ok", "Ready"), False, id="a pause leaves it ready"
        ),
        pytest.param(
            operator(("Ready", "False", "ApprovalRequired"), reason="ApprovalRequired"),
            ("warn", "Waits for approval"),
            False,
            id="what was asked for waits for approval, which is no failure",
        ),
        pytest.param(
            operator(("Ready", "False", "NotResolved")), ("bad", "Not resolved"), True, id="reasons are words"
        ),
        pytest.param(
            operator(NOT_PULLED, ("Ready", "False", "Retrying"), RETRYING, runs=False),
            ("bad", "Installation fails"),
            True,
            id="a bundle that cannot be pulled needs attention while it is retried",
        ),
        pytest.param(
            operator(("Ready", "False", "Upgrading"), RETRYING),
            ("bad", "Upgrade fails"),
            True,
            id="so does an upgrade that fails",
        ),
        pytest.param(
            operator(("Ready", "False", "Installing"), ("Reconciling", "True", "Installing"), runs=False),
            ("info", "Installing"),
            False,
            id="an installation in progress does not",
        ),
    ],
)
def test_the_state_is_in_words_and_says_what_needs_attention(
    given: Any, badge: tuple[str, str], attention: bool
) -> None:
    shown = state_badge(given)
    assert ((shown.kind, shown.text), needs_attention(given)) == (badge, attention)
    assert ("attention" in operator_row(given).states) is attention


WAITS = [
    pytest.param(
        operator(READY, reason="ApprovalRequired", approval="Manual"),
        True,
        "1.2.0 waits for your approval. It is in channel stable of catalog c. Until then 1.1.0 runs.",
        ["upgrade", "exclude"],
        id="it waits for approval",
    ),
    pytest.param(
        operator(READY, reason="Paused", paused=True),
        True,
        "1.2.0 waits. This Operator is paused: nothing of it is changed until it is resumed.",
        ["exclude"],
        id="it waits for the end of a pause",
    ),
    pytest.param(
        operator(READY, reason="OperatorConditionNotUpgradeable"),
        True,
        "1.2.0 waits. The OperatorCondition of 1.1.0 permits no upgrade at present.",
        ["exclude"],
        id="what runs holds it",
    ),
    pytest.param(
        operator(READY, reason="VersionExcluded", version="1.1.0"),
        False,
        "1.2.0 is available; this Operator stays at 1.1.0. Its version is set to 1.1.0.",
        ["edit", "upgrade"],
        id="the version is pinned",
    ),
    pytest.param(
        operator(READY, reason="VersionExcluded", excludedVersions=["1.2.0"]),
        False,
        "1.2.0 is available; this Operator stays at 1.1.0. It is one of the versions that are excluded.",
        ["permit"],
        id="the version is excluded",
    ),
    pytest.param(
        operator(READY, reason="NoUpgradeEdge"),
        False,
        "1.2.0 is available; this Operator stays at 1.1.0. No upgrade leads to it from what runs. The tab Why has the whole"
        " explanation.",
        ["edit"],
        id="nothing leads to it",
    ),
]


@pytest.mark.parametrize(("given", "waits", "text", "pages"), WAITS)
def test_the_version_that_is_available_is_said_from_fields(
    given: Any, waits: bool, text: str, pages: list[str]
) -> None:
    found = waiting(given)
    assert found is not None
    assert f"{found.title} {found.text}" == text
    assert [each.path.partition("?")[0].rpartition("/")[2] for each in found.actions] == pages
    assert (upgrade_waits(given), "upgrade" in operator_row(given).states) == (waits, waits)


DEPLOYMENT = {
    "status": {
        "conditions": [
            {"type": "HasValidBundle", "status": "False", "reason": "UnpackFailed", "message": "no such tag (404)"}
        ]
    }
}


@pytest.mark.parametrize(
    ("given", "deployment", "title", "text"),
    [
        pytest.param(
            operator(NOT_PULLED, ("Ready", "False", "Retrying"), RETRYING, runs=False),
            DEPLOYMENT,
            "1.2.0 cannot be installed.",
            "No such tag (404). It is tried again. Where it stays so, check that the registry has this image",
            id="the image cannot be pulled",
        ),
        pytest.param(
            operator(("Ready", "False", "Upgrading"), RETRYING),
            DEPLOYMENT,
            "The upgrade to 1.2.0 fails: 1.1.0 runs.",
            "No such tag (404).",
            id="that of an upgrade cannot",
        ),
        pytest.param(
            operator(NOT_PULLED, ("Ready", "False", "Retrying"), RETRYING, runs=False),
            None,
            "1.2.0 cannot be installed.",
            "Message of Ready. It is tried again.",
            id="the BundleDeployment is not known",
        ),
        pytest.param(
            operator(NOT_PULLED, ("Ready", "False", "Blocked"), ("Stalled", "True", "Blocked"), runs=False),
            None,
            "1.2.0 cannot be installed.",
            "Message of Ready.",
            id="it is not tried again",
        ),
    ],
)
def test_an_installation_that_fails_has_its_cause_at_the_top(
    given: Any, deployment: Any, title: str, text: str
) -> None:
    (found,) = notes(given, deployment)
    assert (found.kind, found.title, found.href) == ("bad", title, "/operators/alpha/edit")
    assert found.text.startswith(text)


def test_the_list_counts_what_is_not_installed() -> None:
    failing = operator(NOT_PULLED, ("Ready", "False", "Retrying"), RETRYING, runs=False)
    failing["metadata"]["name"] = "beta"
    shown = operators_view(OperatorsQuery(), [operator(READY), failing])
    assert shown.summary == "2 Operators, 1 of them not installed yet, in all namespaces. 1 needs attention."


def test_the_problem_of_a_clusterextension_is_the_state_of_an_operator_that_is_ready() -> None:
    """A message is shown, also if a version waits for approval."""
    problem = ExtensionProblem("InvalidConfiguration", 'unknown field "x"')
    row = operator_row(operator(("Ready", "True", "Succeeded"), reason="ApprovalRequired"), problem=problem)
    assert (row.badge.kind, row.badge.text, row.message) == ("bad", "Invalid configuration", 'unknown field "x"')
    assert "attention" in row.states
