"""The typed fields of the status of an Operator: failure, wanted, health, deprecations. The Worlds are of test_report.py."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from olmkit.api.failures import FailureReason
from olmkit.api.operator_status import Failure
from olmkit.errors import Unavailable
from operator_controller.operator.world import ObservedBundleDeployment, World
from operator_controller.resolve.snapshot.package_snapshot import CatalogState
from tests.unit.operator_controller.operator.report_rows import INSTALLED, NOT_FOUND, READY
from tests.unit.operator_controller.operator.report_rows_held import HOLD
from tests.unit.operator_controller.operator.test_report import ALL_ROWS, reported
from tests.unit.operator_controller.operator.worlds import deployment, image, offer, operator, world

WORLDS = {name: observed for name, observed, _ in ALL_ROWS}
FAILURES = {
    "a version that does not exist, while nothing is installed": "VersionNotFound",
    "a version that does not exist, while another one runs": "VersionNotFound",
    "a version that does not exist, while the one before it is being installed": "VersionNotFound",
    "a version that does not exist, after the one before it failed": "VersionNotFound",
    "no catalog yet": "PackageNotFound",
    "a catalog that is being read": "CatalogUnavailable",
    "the successor of a deleted catalog offers a bundle that cannot be installed": "InvalidBundle",
    "the successor of a deleted catalog does not have the requested version": "VersionNotFound",
    "an upgrade of a deleted catalog is in progress, and its successor offers a bundle that cannot be installed": "InvalidBundle",
    "a package that is too large to be resolved": "ResolutionFailed",
    "an invalid range, while nothing runs": "InvalidRange",
    "a config that nests too deep": "InvalidConfiguration",
    "a second Operator for the package": "PackageClaimed",
    "a second Operator for a package that the first one cannot install": "PackageClaimed",
    "an unknown media type": "InvalidBundle",
    "a BundleDeployment of another owner": "ObjectExists",
    "the installed Bundle is missing and was not recorded": "ResolutionFailed",
    "what runs is excluded, and nothing else can be reached: it stays": "VersionExcluded",
    "all versions are excluded: nothing is installed": "VersionExcluded",
    "a bundle that is not found is not a matter of approval": "PackageNotFound",
    "paused, and what is requested is not found": "VersionNotFound",
    "a request that could not be resolved": "ResolutionFailed",
    "a new request that could not be resolved, of an installed package": "ResolutionFailed",
    "a dependency cannot be installed": "RequirementsNotSatisfied",
    "a conflict with what is being deleted": "Conflict",
    "a conflict that a catalog may lift that is not read": "Conflict",
    "a conflict that nothing under way lifts": "Conflict",
}
"""The rows of test_report.py that fail before a BundleDeployment is concerned; the others have no failure."""


@pytest.mark.parametrize("name", WORLDS)
def test_the_reason_of_a_world(name: str) -> None:
    conditions, status = reported(WORLDS[name])
    failure = status.failure
    assert (failure.reason if failure is not None else None) == FAILURES.get(name)
    is_of_bundle = conditions["Resolved"][0] == "True" and WORLDS[name].owned_bundle_deployment is not None
    assert failure is not None or is_of_bundle or "Stalled" not in conditions, (
        "what a person has to change has a reason"
    )


def test_it_names_what_was_requested_and_what_runs() -> None:
    spec = {"version": "9.9.9", "channels": ["beta", "stable"]}
    runs = deployment("1.0.0", [INSTALLED, READY], active="alpha-1.0.0")
    _, status = reported(world(operator(spec), runs="1.0.0", bundle_deployment=runs))
    assert status.failure is not None
    assert status.failure.message.startswith(NOT_FOUND.removesuffix(" not found"))
    assert status.failure.model_copy(update={"message": ""}) == Failure(
        reason=FailureReason.VERSION_NOT_FOUND,
        message="",
        package="p",
        version="9.9.9",
        channels=["beta", "stable"],
        catalogs=["community"],
        installed_version="1.0.0",
    )
    _, status = reported(world(operator({"channels": ["*"]}), offers=()))
    assert status.failure is not None
    assert (status.failure.channels, status.failure.version, status.failure.catalogs) == (None, None, None)


@pytest.mark.parametrize(
    ("offers", "catalogs"),
    [
        pytest.param((offer("1.0.0", catalog="b"), offer("1.0.0", catalog="a")), ["a", "b"], id="a tie"),
        pytest.param(
            (
                offer(catalog="b", state=CatalogState.UNREACHABLE),
                offer(catalog="a", state=CatalogState.PENDING),
                offer(),
            ),
            ["a", "b"],
            id="two that are not known, beside one that does not have it",
        ),
    ],
)
def test_the_catalogs_are_sorted(offers: tuple[Any, ...], catalogs: list[str]) -> None:
    _, status = reported(world(offers=offers))
    assert status.failure is not None
    assert status.failure.catalogs == catalogs


# --- the failure of the BundleDeployment


def failing(reason: str, ready: str, *, installed: bool = False, **changes: Any) -> ObservedBundleDeployment:
    """The BundleDeployment that requests 1.1.0, whose status has this failure and this reason of Ready."""
    stalled = ("Stalled", "True", "Blocked", "x")
    conditions = [*([INSTALLED] if installed else []), ("Ready", "False", ready, "x"), stalled]
    found = deployment("1.1.0", conditions, active="alpha-1.1.0" if installed else "", **changes)
    failure = {"reason": reason, "message": "it is wrong", "installModes": ["OwnNamespace"]}
    return ObservedBundleDeployment.load({**found.raw, "status": {**found.raw["status"], "failure": failure}})


def test_the_failure_of_the_installation_is_handed_on() -> None:
    _, status = reported(world(bundle_deployment=failing("InvalidConfiguration", "Blocked")))
    assert status.failure == Failure(
        reason=FailureReason.INVALID_CONFIGURATION,
        message="it is wrong",
        package="p",
        install_modes=["OwnNamespace"],
    )


@pytest.mark.parametrize(
    ("observed", "reason", "wanted"),
    [
        pytest.param(
            world(bundle_deployment=failing("UnpackFailed", "UnpackFailed")),
            "UnpackFailed",
            ("1.1.0", False),
            id="nothing runs",
        ),
        pytest.param(
            world(runs="1.1.0", bundle_deployment=failing("DeadlineExceeded", "Unhealthy", installed=True)),
            "DeadlineExceeded",
            ("1.1.0", True),
            id="what is not healthy is applied",
        ),
        pytest.param(
            world(runs="1.1.0", bundle_deployment=failing("ApplyFailed", "Blocked", installed=True)),
            "ApplyFailed",
            ("1.1.0", False),
            id="what cannot be repaired is not",
        ),
        pytest.param(
            world(runs="1.0.0", bundle_deployment=failing("RolledBack", "RolledBack", installed=True)),
            "RolledBack",
            ("1.1.0", False),
            id="nor is what was rolled back",
        ),
        pytest.param(
            world(bundle_deployment=failing("UnpackFailed", "UnpackFailed", generation=2, observed=1)),
            None,
            ("1.1.0", False),
            id="a status about an older spec does not count",
        ),
        pytest.param(
            world(
                operator({"install": {"namespace": "port"}}),
                bundle_deployment=failing("UnpackFailed", "UnpackFailed"),
            ),
            None,
            ("1.1.0", False),
            id="nor does one about other settings",
        ),
        pytest.param(
            world(operator({"version": "9.9.9"}), bundle_deployment=failing("UnpackFailed", "UnpackFailed")),
            "VersionNotFound",
            None,
            id="a failed resolution comes first",
        ),
        pytest.param(
            world(runs="1.1.0", bundle_deployment=deployment("1.1.0", [INSTALLED, READY], active="alpha-1.1.0")),
            None,
            ("1.1.0", True),
            id="installed and healthy",
        ),
        pytest.param(
            world(
                runs="1.1.0",
                bundle_deployment=deployment(
                    "1.1.0", [INSTALLED, ("Ready", "False", "Upgrading", "")], active="alpha-1.1.0"
                ),
            ),
            None,
            ("1.1.0", False),
            id="other settings of the same bundle are being applied",
        ),
        pytest.param(
            world(runs="1.0.0", bundle_deployment=deployment("1.1.0", [INSTALLED], active="alpha-1.0.0")),
            None,
            ("1.1.0", False),
            id="while an upgrade runs, the new bundle is wanted and the old one installed",
        ),
        pytest.param(
            world(
                operator({"approval": "Manual"}),
                runs="1.0.0",
                bundle_deployment=deployment("1.0.0", [INSTALLED, READY], active="alpha-1.0.0"),
            ),
            None,
            ("1.0.0", True),
            id="while a bundle is held back, the one that runs is wanted",
        ),
        *(
            pytest.param(
                world(
                    operator({"version": "1.1.0", **held}),
                    runs="1.0.0",
                    bundle_deployment=deployment("1.0.0", [INSTALLED, READY], active="alpha-1.0.0", hold=hold),
                ),
                None,
                ("1.0.0", False),
                id=f"what runs is not as spec says while the version that spec requests {waits}",
            )
            for waits, held, hold in (
                ("waits for approval", {"approval": "Manual"}, None),
                ("waits because the Operator is paused", {"paused": True}, None),
                ("waits for an OperatorCondition", {}, HOLD),
                ("waits, and what runs is excluded", {"approval": "Manual", "excludedVersions": ["1.0.0"]}, None),
            )
        ),
        pytest.param(
            world(operator({"approval": "Manual"})), None, None, id="nothing is wanted before the first approval"
        ),
    ],
)
def test_failure_and_wanted(observed: World, reason: str | None, wanted: tuple[str, bool] | None) -> None:
    _, status = reported(observed)
    assert (status.failure.reason if status.failure is not None else None) == reason
    found = status.wanted
    assert ((found.version, found.applied) if found is not None else None) == wanted
    if found is not None:
        assert (found.name, found.image) == (f"p.v{found.version}", image(found.version))


def test_a_write_that_fails_is_a_failure_until_it_succeeds() -> None:
    _, status = reported(world(), Unavailable(503, "", "later"))
    assert status.failure is not None
    assert (status.failure.reason, "later" in status.failure.message) == ("ApplyFailed", True)
    assert reported(world())[1].failure is None


def test_nothing_fails_while_the_operator_is_being_deleted() -> None:
    before = {"observedGeneration": 1, "failure": {"reason": "Unhealthy", "message": "x"}}
    before["wanted"] = {"name": "p.v1.1.0", "version": "1.1.0", "image": "i", "applied": True}
    held = deployment("1.1.0", [INSTALLED], active="alpha-1.1.0", deleting=True)
    _, status = reported(world(operator(deleting=True, status=before), runs="1.1.0", bundle_deployment=held))
    assert status.failure is None
    assert status.wanted is not None


# --- health


ILL = ("Healthy", "False", "Unhealthy", "Deployment.apps web: its pods crash")


@pytest.mark.parametrize(
    ("observed", "health"),
    [
        pytest.param(
            world(runs="1.1.0", bundle_deployment=deployment("1.1.0", [INSTALLED, READY, ILL], active="alpha-1.1.0")),
            ILL,
            id="what was chosen",
        ),
        pytest.param(
            world(
                operator({"version": "9.9.9"}),
                runs="1.1.0",
                bundle_deployment=deployment("1.1.0", [INSTALLED, ILL], active="alpha-1.1.0"),
            ),
            ILL,
            id="while a version is requested that does not exist",
        ),
        pytest.param(
            world(
                runs="1.0.0",
                bundle_deployment=deployment("1.1.0", [INSTALLED, ILL], active="alpha-1.0.0", generation=2, observed=1),
            ),
            ILL,
            id="another bundle is requested, and nothing is known of that",
        ),
        pytest.param(
            world(
                operator(deleting=True),
                runs="1.1.0",
                bundle_deployment=deployment("1.1.0", [INSTALLED, ILL], active="alpha-1.1.0", deleting=True),
            ),
            ILL,
            id="while it is being deleted",
        ),
        pytest.param(
            world(bundle_deployment=deployment("1.1.0", [("Healthy", "False", "InstallationStatusFalse", "x")])),
            None,
            id="nothing runs",
        ),
        pytest.param(world(), None, id="there is no BundleDeployment"),
        pytest.param(
            world(runs="1.1.0", bundle_deployment=deployment("1.1.0", [INSTALLED], active="alpha-1.1.0")),
            None,
            id="it is not known yet",
        ),
    ],
)
def test_the_health_of_what_runs(observed: World, health: tuple[str, str, str, str] | None) -> None:
    _, status = reported(observed)
    found = status.health
    assert (("Healthy", found.status, found.reason, found.message) if found is not None else None) == health


# --- deprecations


def test_deprecations_are_unknown_while_the_catalog_is_away_and_the_texts_stay() -> None:
    runs = deployment("1.1.0", [INSTALLED, READY], active="alpha-1.1.0")
    seen = replace(
        WORLDS["the installed bundle is deprecated: a condition of its own says so, and Ready does not change"]
    )
    conditions, status = reported(seen)
    assert status.deprecations is not None
    assert status.deprecations.dump() == {"known": True, "bundle": "has a bug"}
    away = operator(status=status.dump())
    later, status = reported(world(away, runs="1.1.0", bundle_deployment=runs, offers=()))
    assert status.deprecations is not None
    assert status.deprecations.dump() == {"known": False}
    assert later["BundleDeprecated"] == conditions["BundleDeprecated"]


def test_deprecations_stay_while_a_request_is_being_resolved() -> None:
    seen = WORLDS["a request that is being resolved for longer than usual"]
    assert reported(seen)[1].deprecations is None
    before = {"deprecations": {"known": True, "package": "gone soon"}}
    raw = {**seen.raw, "status": {**seen.raw["status"], **before}}
    _, status = reported(replace(seen, raw=raw, operator=type(seen.operator).load(raw)))
    assert status.deprecations is not None
    assert status.deprecations.package == "gone soon"
