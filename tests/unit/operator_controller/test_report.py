"""What is said of an Operator, World by World."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from olmkit.api.operators import FINALIZER, OperatorStatus, Reason
from olmkit.errors import ApiError, Conflict, OlmError
from operator_controller.decide import Delete, Done, Hold, Keep, Release, decide
from operator_controller.judge import CATALOG_AGAIN
from operator_controller.report import Outcome, report
from operator_controller.resolve.candidates import Offer, Standing
from operator_controller.world import Claim, World
from tests.unit.operator_controller.builders import bundle, deployment, image, notes, offer, operator, world

Conditions = Mapping[str, tuple[str, str, str]]

INSTALLED = ("Installed", "True", "InstallationSucceeded", "")
READY = ("Ready", "True", "Succeeded", "ok")
RESOLVED = ("True", "Success", f'resolved to "{image("1.1.0")}"')
RUNS_OLD = ("True", "Success", f'installed from "{image("1.0.0")}"')
RUNS_NEW = ("True", "Success", f'installed from "{image("1.1.0")}"')
BEST = '1.1.0 of channel stable in catalog "community": the best of 2 versions'
UNKNOWN = ("Unknown", "InstallationStatusUnknown", "bundledeployment status is unknown")
NOT_ATTEMPTED = ("Unknown", "InstallationStatusUnknown", "installation has not been attempted as resolution failed")
NOT_FOUND = "package 'p' at version '9.9.9' not found"
NEAR_MISS = f"{NOT_FOUND}: stable has 1.0.0, 1.1.0; none is 9.9.9"


def outcome_of(seen: World) -> Outcome:
    """What the pass comes to when every write succeeds."""
    try:
        return Done(decide(seen))
    except OlmError as error:
        return error


def told(seen: World, outcome: Outcome | None = None) -> tuple[dict[str, tuple[str, str, str]], OperatorStatus]:
    said = report(seen, outcome if outcome is not None else outcome_of(seen))
    assert said is not None
    conditions: dict[str, tuple[str, str, str]] = {
        one.type: (one.status, one.reason, one.message) for one in said.status.conditions
    }
    assert {one.observed_generation for one in said.status.conditions} == {seen.operator.metadata.generation}
    assert said.status.observed_generation == seen.operator.metadata.generation
    assert not ("Reconciling" in conditions and "Stalled" in conditions)
    assert ("Reconciling" in conditions or "Stalled" in conditions) <= (conditions["Ready"][0] == "False")
    return conditions, said.status


def both(kind: str, reason: str, message: str, inner: str) -> dict[str, tuple[str, str, str]]:
    """Ready False and what goes with it."""
    return {"Ready": ("False", reason, message), kind: ("True", inner, message)}


ROWS: list[tuple[str, World, Conditions]] = [
    (
        "asked for just now",
        world(),
        {
            "Resolved": RESOLVED,
            "Installed": UNKNOWN,
            **both("Reconciling", "NotInstalled", "installing 1.1.0: asked for", "Installing"),
        },
    ),
    (
        "asked for, and the BundleDeployment's status does not speak of it yet",
        world(deployment=deployment("1.1.0", [READY], generation=2, observed=1)),
        {
            "Resolved": RESOLVED,
            "Installed": UNKNOWN,
            **both("Reconciling", "NotInstalled", "installing 1.1.0: asked for", "Installing"),
        },
    ),
    (
        "being unpacked",
        world(
            deployment=deployment(
                "1.1.0",
                [
                    ("HasValidBundle", "False", "UnpackPending", "Waiting for the Bundle"),
                    ("Ready", "False", "NotInstalled", "Waiting for the Bundle"),
                    ("Reconciling", "True", "UnpackPending", "Waiting for the Bundle"),
                ],
            )
        ),
        {
            "Resolved": RESOLVED,
            "Installed": UNKNOWN,
            **both("Reconciling", "NotInstalled", "installing 1.1.0: Waiting for the Bundle", "Installing"),
        },
    ),
    (
        "a bundle that cannot be unpacked is told with its reason",
        world(
            deployment=deployment(
                "1.1.0",
                [
                    ("HasValidBundle", "False", "UnpackFailed", "no such image"),
                    ("Ready", "False", "NotInstalled", "no such image"),
                    ("Reconciling", "True", "UnpackFailed", "no such image"),
                ],
            )
        ),
        {
            "Resolved": RESOLVED,
            "Installed": ("False", "InstallationFailed", "bundledeployment not ready: no such image"),
            **both("Reconciling", "NotInstalled", "installing 1.1.0: no such image", "Retrying"),
        },
    ),
    (
        "a bundle that cannot be installed stalls it",
        world(
            deployment=deployment(
                "1.1.0",
                [
                    ("HasValidBundle", "True", "UnpackSuccessful", ""),
                    ("Installed", "False", "InstallFailed", "webhooks"),
                    ("Ready", "False", "NotInstalled", "webhooks"),
                    ("Stalled", "True", "Blocked", "webhooks"),
                ],
            )
        ),
        {
            "Resolved": RESOLVED,
            "Installed": ("False", "InstallationFailed", "bundledeployment not ready: webhooks"),
            **both("Stalled", "NotInstalled", "installing 1.1.0: webhooks", "Blocked"),
        },
    ),
    (
        "the first installation under way is no failure",
        world(
            deployment=deployment(
                "1.1.0",
                [
                    ("Installed", "False", "Installing", "phase 2 of 7"),
                    ("Ready", "False", "NotInstalled", "phase 2 of 7"),
                    ("Reconciling", "True", "Installing", "phase 2 of 7"),
                ],
            )
        ),
        {
            "Resolved": RESOLVED,
            "Installed": ("Unknown", "InstallationStatusUnknown", "bundledeployment not ready: phase 2 of 7"),
            **both("Reconciling", "NotInstalled", "installing 1.1.0: phase 2 of 7", "Installing"),
        },
    ),
    (
        "installed and well",
        world(runs="1.1.0", deployment=deployment("1.1.0", [INSTALLED, READY], active="alpha-1.1.0")),
        {"Resolved": RESOLVED, "Installed": RUNS_NEW, "Ready": ("True", "Succeeded", BEST)},
    ),
    (
        "installed and not well",
        world(
            runs="1.1.0",
            deployment=deployment(
                "1.1.0",
                [
                    INSTALLED,
                    ("Ready", "False", "Unhealthy", "Deployment d: 0 of 1"),
                    ("Healthy", "False", "Unhealthy", ""),
                ],
                active="alpha-1.1.0",
            ),
        ),
        {"Resolved": RESOLVED, "Installed": RUNS_NEW, "Ready": ("False", "Unhealthy", "Deployment d: 0 of 1")},
    ),
    (
        "installed, and something that drifted cannot be put right",
        world(
            runs="1.1.0",
            deployment=deployment(
                "1.1.0",
                [
                    INSTALLED,
                    ("Ready", "False", "Blocked", "cannot repair"),
                    ("Stalled", "True", "Blocked", "cannot repair"),
                ],
                active="alpha-1.1.0",
            ),
        ),
        {"Resolved": RESOLVED, "Installed": RUNS_NEW, **both("Stalled", "Unhealthy", "cannot repair", "Blocked")},
    ),
    (
        "an upgrade asked for just now tells what runs, not what is wanted",
        world(runs="1.0.0", deployment=deployment("1.0.0", [INSTALLED, READY], active="alpha-1.0.0")),
        {
            "Resolved": RESOLVED,
            "Installed": RUNS_OLD,
            **both("Reconciling", "Upgrading", "upgrading from 1.0.0 to 1.1.0: asked for", "Installing"),
        },
    ),
    (
        "an upgrade whose BundleDeployment still tells of the old bundle is not Ready",
        world(
            runs="1.0.0",
            deployment=deployment("1.1.0", [INSTALLED, READY], active="alpha-1.0.0", generation=2, observed=1),
        ),
        {
            "Resolved": RESOLVED,
            "Installed": RUNS_OLD,
            **both("Reconciling", "Upgrading", "upgrading from 1.0.0 to 1.1.0: asked for", "Installing"),
        },
    ),
    (
        "an upgrade under way",
        world(
            runs="1.0.0",
            deployment=deployment(
                "1.1.0",
                [
                    INSTALLED,
                    ("Ready", "False", "Upgrading", "phase 3 of 7"),
                    ("Reconciling", "True", "Upgrading", "phase 3 of 7"),
                ],
                active="alpha-1.0.0",
            ),
        ),
        {
            "Resolved": RESOLVED,
            "Installed": RUNS_OLD,
            **both("Reconciling", "Upgrading", "upgrading from 1.0.0 to 1.1.0: phase 3 of 7", "Installing"),
        },
    ),
    (
        "an upgrade that fails leaves told what runs",
        world(
            runs="1.0.0",
            deployment=deployment(
                "1.1.0",
                [INSTALLED, ("Ready", "False", "Upgrading", "refused"), ("Stalled", "True", "Blocked", "refused")],
                active="alpha-1.0.0",
            ),
        ),
        {
            "Resolved": RESOLVED,
            "Installed": RUNS_OLD,
            **both("Stalled", "Upgrading", "upgrading from 1.0.0 to 1.1.0: refused", "Blocked"),
        },
    ),
    (
        "a version that is not there, as the first one asked for",
        world(operator({"version": "9.9.9"})),
        {
            "Resolved": ("False", "ResolutionFailed", NOT_FOUND),
            "Installed": NOT_ATTEMPTED,
            **both("Stalled", "NotResolved", NEAR_MISS, "Blocked"),
        },
    ),
    (
        "a version that is not there, on a running Operator",
        world(
            operator({"version": "9.9.9"}),
            runs="1.0.0",
            deployment=deployment("1.0.0", [INSTALLED, READY], active="alpha-1.0.0"),
        ),
        {
            "Resolved": ("False", "ResolutionFailed", NOT_FOUND),
            "Installed": RUNS_OLD,
            **both("Stalled", "NotResolved", NEAR_MISS, "Blocked"),
        },
    ),
    (
        "no catalog yet",
        world(offers=()),
        {
            "Resolved": ("False", "ResolutionFailed", "package 'p' not found"),
            "Installed": NOT_ATTEMPTED,
            **both(
                "Reconciling",
                "NotResolved",
                "package 'p' not found: there is no Catalog yet: create one that has package 'p'",
                "WaitingForCatalog",
            ),
        },
    ),
    (
        "a catalog that is being read",
        world(offers=(Offer("community", standing=Standing.PENDING, message="unpacking"),)),
        {
            "Resolved": ("False", "ResolutionFailed", "package 'p' not found"),
            "Installed": NOT_ATTEMPTED,
            **both(
                "Reconciling",
                "NotResolved",
                "package 'p' not found: catalog \"community\" is not served yet: unpacking",
                "WaitingForCatalog",
            ),
        },
    ),
    (
        "the catalog that an installed package came from is gone",
        world(runs="1.0.0", offers=(), deployment=deployment("1.0.0", [INSTALLED, READY], active="alpha-1.0.0")),
        {
            "Resolved": ("True", "Success", f'resolved to "{image("1.0.0")}"'),
            "Installed": RUNS_OLD,
            "Ready": (
                "True",
                "Succeeded",
                '1.0.0 stays: catalog "community", which it came from, is gone, so no other version is looked for',
            ),
        },
    ),
    (
        "a range that cannot be read, while nothing runs",
        world(operator({"version": "99999999999999999999.0.0"})),
        {
            "Resolved": ("Unknown", "ResolutionUnknown", "validation has not been attempted as spec is invalid"),
            "Installed": (
                "Unknown",
                "InstallationStatusUnknown",
                "installation has not been attempted as spec is invalid",
            ),
            **both(
                "Stalled",
                "NotResolved",
                'spec.version: Major number is too large "99999999999999999999" in "99999999999999999999.0.0"; for example '
                "1.2.3, '>=1.2.0 <2.0.0', '~1.4' or '1.x'",
                "Blocked",
            ),
        },
    ),
    (
        "a second Operator for the package",
        world(claims=(Claim(True, True, "2", "alpha"), Claim(True, True, "1", "beta"))),
        {
            "Resolved": (
                "False",
                "ResolutionFailed",
                'package "p" is already managed by Operator "beta"; delete one of them',
            ),
            "Installed": NOT_ATTEMPTED,
            **both(
                "Stalled",
                "NotResolved",
                'package "p" is already managed by Operator "beta"; delete one of them',
                "Blocked",
            ),
        },
    ),
    (
        "a media type nobody can unpack",
        world(offers=(offer("1.1.0", bundle={"mediaType": "helm"}),)),
        {
            "Resolved": RESOLVED,
            "Installed": ("False", "InstallationFailed", "unknown bundle mediatype: helm"),
            **both("Stalled", "NotInstalled", "unknown bundle mediatype: helm", "Blocked"),
        },
    ),
    (
        "a BundleDeployment of somebody else",
        world(deployment=deployment("1.1.0", [READY], owners=[])),
        {
            "Resolved": RESOLVED,
            "Installed": (
                "False",
                "InstallationFailed",
                'BundleDeployment "alpha" exists already and is owned by no Operator: delete it, or create the Operator under '
                "another name",
            ),
            **both(
                "Stalled",
                "NotInstalled",
                'BundleDeployment "alpha" exists already and is owned by no Operator: delete it, or create the Operator under '
                "another name",
                "Blocked",
            ),
        },
    ),
    (
        "a BundleDeployment that somebody deletes",
        world(deployment=deployment("1.1.0", deleting=True)),
        {
            "Resolved": RESOLVED,
            "Installed": UNKNOWN,
            **both(
                "Reconciling",
                "NotInstalled",
                'BundleDeployment "alpha" is being deleted by somebody and is made again when it is gone',
                "Retrying",
            ),
        },
    ),
]


@pytest.mark.parametrize(("seen", "wanted"), [pytest.param(w, c, id=name) for name, w, c in ROWS])
def test_the_conditions(seen: World, wanted: Conditions) -> None:
    assert told(seen)[0] == wanted


@pytest.mark.parametrize("seen", [pytest.param(w, id=name) for name, w, _ in ROWS])
def test_saying_it_again_changes_nothing_and_is_no_news(seen: World) -> None:
    outcome = outcome_of(seen)
    _, status = told(seen, outcome)
    raw = {**seen.raw, "status": status.dump()}
    again = report(_with(seen, raw), outcome)
    assert again is not None
    assert again.status.dump() == status.dump()
    assert again.transitions == ()


def _with(seen: World, raw: Mapping[str, Any]) -> World:
    return replace(seen, raw=raw, operator=type(seen.operator).load(raw))


def test_the_fields_name_what_was_chosen_and_what_runs() -> None:
    _, status = told(world(runs="1.0.0", deployment=deployment("1.0.0", [INSTALLED, READY], active="alpha-1.0.0")))
    assert status.dump() | {"conditions": None} == {
        "observedGeneration": 1,
        "conditions": None,
        "resolvedBundleResource": image("1.1.0"),
        "installedBundleResource": image("1.0.0"),
        "installed": {
            "name": "p.v1.0.0",
            "version": "1.0.0",
            "catalog": "community",
            "channel": "stable",
            "apis": [{"group": "g.example.com", "version": "v1", "kind": "Thing"}],
        },
        "resolution": BEST,
    }


def test_a_resolution_that_fails_blanks_what_was_chosen_and_not_what_runs() -> None:
    _, status = told(
        world(operator({"version": "9.9.9"}), runs="1.0.0", deployment=deployment("1.0.0", active="alpha-1.0.0"))
    )
    assert status.resolved_bundle_resource is None
    assert status.installed_bundle_resource == image("1.0.0")
    assert status.resolution == NEAR_MISS


@pytest.mark.parametrize(
    ("runs", "installed", "ready"),
    [
        pytest.param("", ("False", "InstallationFailed", "no room"), "NotInstalled", id="while nothing runs"),
        pytest.param("1.0.0", RUNS_OLD, "Upgrading", id="while the old one runs"),
    ],
)
def test_a_write_that_fails_is_tried_again(runs: str, installed: tuple[str, str, str], ready: str) -> None:
    conditions, _ = told(world(runs=runs), ApiError(500, "Internal", "no room"))
    assert conditions["Installed"] == installed
    assert conditions["Ready"] == ("False", ready, "the BundleDeployment could not be written: no room")
    assert conditions["Reconciling"][:2] == ("True", "Retrying")


def test_a_fault_of_our_own_is_named_by_its_kind() -> None:
    conditions, _ = told(world(), KeyError("x"))
    assert conditions["Ready"] == ("False", "NotInstalled", "KeyError: 'x'")
    assert conditions["Installed"] == UNKNOWN


@pytest.mark.parametrize(
    ("seen", "outcome"),
    [
        pytest.param(world(), Conflict(409, "Conflict", ""), id="somebody wrote first"),
        pytest.param(world(), Done(Hold((FINALIZER,))), id="only the finalizer was put on"),
        pytest.param(world(operator(deleting=True)), Done(Release(())), id="the Operator is gone by now"),
        pytest.param(world(operator(deleting=True, finalizers=["x/y"])), Done(Keep()), id="only others hold it"),
        pytest.param(world(unseen_bundle="b"), None, id="what runs cannot be seen yet"),
    ],
)
def test_nothing_is_said(seen: World, outcome: Outcome | None) -> None:
    assert report(seen, outcome if outcome is not None else outcome_of(seen)) is None


def test_removing_says_what_is_left_and_keeps_what_was_said() -> None:
    before = told(world(runs="1.0.0", deployment=deployment("1.0.0", [INSTALLED, READY], active="alpha-1.0.0")))[1]
    raw = operator(deleting=True, status=before.dump())
    conditions, status = told(world(raw, runs="1.0.0", deployment=deployment("1.0.0")), Done(Delete("alpha", "u")))
    assert conditions["Ready"] == ("False", "Removing", "removing what was installed")
    assert conditions["Reconciling"] == ("True", "Removing", "removing what was installed")
    assert conditions["Installed"] == RUNS_OLD
    left = deployment("1.0.0", [("Ready", "False", "Removing", "2 custom resources are left")], deleting=True)
    conditions, status = told(world(raw, runs="1.0.0", deployment=left), Done(Keep()))
    assert conditions["Ready"][2] == "removing what was installed: 2 custom resources are left"
    assert status.installed_bundle_resource == image("1.0.0")


def test_a_long_story_is_cut() -> None:
    conditions, _ = told(world(deployment=deployment("1.1.0", [("Ready", "False", "NotInstalled", "ü" * 5000)])))
    assert len(conditions["Ready"][2].encode()) <= 1024


def test_what_nobody_chose_is_told_while_it_is_put_right() -> None:
    """The Bundle that runs is of another name than the one that is wanted, both from one image: annotations catch up."""
    renamed = bundle("1.1.0")
    renamed["metadata"]["annotations"] = notes("1.1.0") | {"operators.operatorframework.io/bundle-name": "p-old"}
    conditions, _ = told(world(runs=renamed, deployment=deployment("1.1.0", [INSTALLED, READY], active="alpha-1.1.0")))
    assert conditions["Ready"][:2] == ("False", "Upgrading")


def test_every_reason_of_the_api_is_said_somewhere() -> None:
    said = {reason for _, seen, _ in ROWS for _, reason, _ in told(seen)[0].values()}
    said |= {"Removing"}
    assert said == {reason.value for reason in Reason}


def test_after_is_what_the_plan_asks_for() -> None:
    plan = decide(world(deployment=deployment("1.1.0", [READY]), is_lagging=True))
    assert isinstance(plan, Keep)
    assert plan.after == CATALOG_AGAIN
