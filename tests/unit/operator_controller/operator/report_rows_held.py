"""More rows of the table of test_report.py: approval, pause, and a deprecated bundle that stays installed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from olmkit.api.operators import APPROVED_VERSION_ANNOTATION
from operator_controller.operator.world import World
from operator_controller.resolve.snapshot.package_snapshot import CatalogState
from tests.unit.operator_controller.operator.report_rows import (
    BEST,
    INSTALLED,
    READY,
    RESOLVED,
    RUNS_NEW,
    RUNS_OLD,
    UNKNOWN,
    Conditions,
    both,
)
from tests.unit.operator_controller.operator.worlds import CatalogOffer, deployment, image, offer, operator, world

WAITS = f'1.1.0 waits for approval: set the annotation {APPROVED_VERSION_ANNOTATION} to "1.1.0"'
HOLD = {"operatorCondition": "ns/p.v1.0.0", "message": "The operator is not upgradeable: migrating"}
HELD = (
    "1.1.0 waits: OperatorCondition ns/p.v1.0.0: The operator is not upgradeable: migrating; an override of Upgradeable in "
    "its spec.overrides lifts this"
)
PAUSED = "the Operator is paused (spec.paused)"
REQUESTED = '1.1.0 of channel stable in catalog "community": the requested version'
KEEPS_OLD = ("True", "Success", f'resolved to "{image("1.0.0")}"')
EXCLUDED = "runs 1.0.0, which spec.excludedVersions excludes"
ONLY = '1.1.0 of channel stable in catalog "community": the only version'
UPGRADING = "upgrading from 1.0.0 to 1.1.0: newest of channel stable"
OLDER = (
    "spec.excludedVersions has 1.1.0, and 1.0.0 cannot be reached from 1.1.0: it is older, and no upgrade edge leads back "
    "to it"
)
STUCK = (
    f'{OLDER}: channel stable of catalog "community" has no upgrade from 1.1.0; with '
    "spec.upgradeConstraintPolicy Ignore, 1.0.0 would be installed without an upgrade edge, which publishers do not test; "
    "deleting this Operator and creating it again also installs it, and deletes its custom resources"
)
NONE_LEFT = 'no version of package "p" is left: spec.excludedVersions has 1.0.0 and 1.1.0'
UNHEALTHY = ("Ready", "False", "Unhealthy", "no pods")


def _deprecated() -> CatalogOffer:
    """A catalog of version 1.1.0, which is deprecated."""
    plain = offer("1.1.0")
    assert plain.package is not None
    deprecation = {"reference": {"schema": "olm.bundle", "name": "p.v1.1.0"}, "message": "has a bug"}
    return replace(plain, package={**plain.package, "deprecations": [deprecation]})


DEPRECATED = _deprecated()


def manual(approved: str = "", **spec: Any) -> dict[str, Any]:
    """The Operator with approval Manual, and a version that is approved."""
    annotations = {APPROVED_VERSION_ANNOTATION: approved} if approved else {}
    return operator({"approval": "Manual", **spec}, annotations=annotations)


def paused(**spec: Any) -> dict[str, Any]:
    return operator({"paused": True, **spec})


def runs(version: str, raw: dict[str, Any], *conditions: tuple[str, str, str, str], **changes: Any) -> World:
    """The World in which this version runs as requested."""
    state = deployment(version, conditions or (INSTALLED, READY), active=f"alpha-{version}")
    return world(raw, runs=version, **{"bundle_deployment": state, **changes})


def held_by_condition(version: str, raw: dict[str, Any] | None = None, **changes: Any) -> World:
    """The same, while the OperatorCondition of its bundle permits no upgrade."""
    state = deployment(version, (INSTALLED, READY), active=f"alpha-{version}", hold=HOLD)
    return world(raw or operator({}), runs=version, **{"bundle_deployment": state, **changes})


def not_attempted(why: str) -> tuple[str, str, str]:
    return "Unknown", "InstallationStatusUnknown", f"installation has not been attempted as {why}"


REQUESTED_AND_HELD = deployment(
    "1.1.0",
    (
        INSTALLED,
        ("Ready", "False", "OperatorConditionNotUpgradeable", "the upgrade to p.v1.1.0 waits"),
        ("Reconciling", "True", "OperatorConditionNotUpgradeable", "the upgrade to p.v1.1.0 waits"),
    ),
    active="alpha-1.0.0",
    hold=HOLD,
)

ROWS: list[tuple[str, World, Conditions]] = [
    (
        "the OperatorCondition of the installed bundle holds an upgrade: nothing is wrong",
        held_by_condition("1.0.0"),
        {
            "Resolved": KEEPS_OLD,
            "Installed": RUNS_OLD,
            "Ready": ("True", "OperatorConditionNotUpgradeable", f"{HELD}; {BEST}"),
        },
    ),
    (
        "it holds the version that is requested",
        held_by_condition("1.0.0", operator({"version": "1.1.0"})),
        {
            "Resolved": KEEPS_OLD,
            "Installed": RUNS_OLD,
            "Ready": (
                "False",
                "OperatorConditionNotUpgradeable",
                f"{HELD}; meanwhile 1.0.0 runs; {REQUESTED}",
            ),
        },
    ),
    (
        "it holds an upgrade that the BundleDeployment requests already",
        world(operator({}), runs="1.0.0", bundle_deployment=REQUESTED_AND_HELD),
        {
            "Resolved": RESOLVED,
            "Installed": RUNS_OLD,
            **both(
                "Reconciling",
                "OperatorConditionNotUpgradeable",
                "upgrading from 1.0.0 to 1.1.0: the upgrade to p.v1.1.0 waits",
                "OperatorConditionNotUpgradeable",
            ),
        },
    ),
    (
        "what runs is excluded, and its upgrade waits for approval",
        runs("1.0.0", manual(excludedVersions=["1.0.0"])),
        {
            "Resolved": KEEPS_OLD,
            "Installed": RUNS_OLD,
            "Ready": ("False", "ApprovalRequired", f"{EXCLUDED}; {WAITS}; meanwhile 1.0.0 runs; {ONLY}"),
        },
    ),
    (
        "what runs is excluded, and is being replaced",
        runs("1.0.0", operator({"excludedVersions": ["1.0.0+build"]})),
        {
            "Resolved": RESOLVED,
            "Installed": RUNS_OLD,
            **{
                "Ready": ("False", "Upgrading", f"{EXCLUDED}; {UPGRADING}"),
                "Reconciling": ("True", "Installing", UPGRADING),
            },
        },
    ),
    (
        "what runs is excluded, and nothing else can be reached: it stays",
        runs("1.1.0", operator({"excludedVersions": ["1.1.0"]})),
        {
            "Resolved": ("False", "ResolutionFailed", OLDER),
            "Installed": RUNS_NEW,
            "Ready": ("False", "NotResolved", f"runs 1.1.0, which spec.excludedVersions excludes; {STUCK}"),
            "Stalled": ("True", "Blocked", STUCK),
        },
    ),
    (
        "all versions are excluded: nothing is installed",
        world(operator({"excludedVersions": ["1.0.0", "1.1.0"]})),
        {
            "Resolved": ("False", "ResolutionFailed", NONE_LEFT),
            "Installed": not_attempted("resolution failed"),
            **both("Stalled", "NotResolved", NONE_LEFT, "Blocked"),
        },
    ),
    (
        "an upgrade is excluded: what runs is as requested",
        runs("1.0.0", operator({"excludedVersions": ["1.1.0"]})),
        {
            "Resolved": KEEPS_OLD,
            "Installed": RUNS_OLD,
            "Ready": (
                "True",
                "Succeeded",
                '1.0.0 of channel stable in catalog "community": the only version; 1.1.0 is available too, but '
                "spec.excludedVersions has it",
            ),
        },
    ),
    (
        "the first installation waits for approval: nothing is wrong, and nobody works on it",
        world(manual()),
        {
            "Resolved": RESOLVED,
            "Installed": not_attempted("it is not approved"),
            "Ready": ("False", "ApprovalRequired", f"{WAITS}; {BEST}"),
        },
    ),
    (
        "another version is approved that does not exist",
        world(manual("1.0.5")),
        {
            "Resolved": RESOLVED,
            "Installed": not_attempted("it is not approved"),
            "Ready": ("False", "ApprovalRequired", f'{WAITS} (it is "1.0.5"); {BEST}'),
        },
    ),
    (
        "the approved version is installed, although a better one exists",
        world(manual("1.0.0")),
        {
            "Resolved": KEEPS_OLD,
            "Installed": UNKNOWN,
            **both("Reconciling", "Installing", "installing 1.0.0: approved version", "Installing"),
        },
    ),
    (
        "an upgrade waits for approval, and what is installed is healthy",
        runs("1.0.0", manual()),
        {"Resolved": KEEPS_OLD, "Installed": RUNS_OLD, "Ready": ("True", "UpgradeAvailable", f"{WAITS}; {BEST}")},
    ),
    (
        "an approval that was used does not count again",
        runs("1.0.0", manual("1.0.0")),
        {"Resolved": KEEPS_OLD, "Installed": RUNS_OLD, "Ready": ("True", "UpgradeAvailable", f"{WAITS}; {BEST}")},
    ),
    (
        "an upgrade waits for approval, and what is installed is unhealthy",
        runs("1.0.0", manual(), INSTALLED, UNHEALTHY),
        {
            "Resolved": KEEPS_OLD,
            "Installed": RUNS_OLD,
            **both("Reconciling", "Unhealthy", f"no pods; {WAITS}", "Installing"),
        },
    ),
    (
        "an upgrade is approved",
        runs("1.0.0", manual("1.1.0")),
        {
            "Resolved": RESOLVED,
            "Installed": RUNS_OLD,
            **both("Reconciling", "Upgrading", "upgrading from 1.0.0 to 1.1.0: approved version", "Installing"),
        },
    ),
    (
        "the best version runs, and nothing has to be approved",
        runs("1.1.0", manual()),
        {"Resolved": RESOLVED, "Installed": RUNS_NEW, "Ready": ("True", "Succeeded", BEST)},
    ),
    (
        "an installation that has begun continues when its approval is removed",
        world(manual(), bundle_deployment=deployment("1.1.0", [("Ready", "False", "Installing", "phase 2 of 7")])),
        {
            "Resolved": RESOLVED,
            "Installed": UNKNOWN,
            **both("Reconciling", "Installing", "installing 1.1.0: phase 2 of 7", "Installing"),
        },
    ),
    (
        "an installation that has begun continues when a better version appears",
        world(manual(), bundle_deployment=deployment("1.0.0", [("Ready", "False", "Installing", "phase 2 of 7")])),
        {
            "Resolved": KEEPS_OLD,
            "Installed": UNKNOWN,
            **both("Reconciling", "Installing", f"phase 2 of 7; {WAITS}", "Installing"),
        },
    ),
    (
        "a bundle that cannot be installed waits for approval like any other",
        runs("1.0.0", manual(), offers=(offer("1.0.0", "1.1.0", bundle={"mediaType": "helm"}),)),
        {"Resolved": KEEPS_OLD, "Installed": RUNS_OLD, "Ready": ("True", "UpgradeAvailable", f"{WAITS}; {BEST}")},
    ),
    (
        "a bundle that is not found is not a matter of approval",
        world(manual(), offers=(CatalogOffer("community"),)),
        {
            "Resolved": ("False", "ResolutionFailed", "package 'p' not found"),
            "Installed": (
                "Unknown",
                "InstallationStatusUnknown",
                "installation has not been attempted as resolution failed",
            ),
            **both(
                "Stalled", "NotResolved", "package 'p' not found: catalog \"community\" does not have it", "Blocked"
            ),
        },
    ),
    (
        "the installed bundle is deprecated: a condition of its own says so, and Ready does not change",
        runs("1.1.0", operator(), offers=(DEPRECATED,)),
        {
            "Resolved": RESOLVED,
            "Installed": RUNS_NEW,
            "Ready": (
                "True",
                "Succeeded",
                '1.1.0 of channel stable in catalog "community": the only version; it is deprecated: has a bug',
            ),
            "Deprecated": ("True", "Deprecated", "has a bug"),
            "BundleDeprecated": ("True", "Deprecated", "has a bug"),
        },
    ),
    (
        "paused before the first installation",
        world(paused()),
        {
            "Resolved": RESOLVED,
            "Installed": not_attempted("the Operator is paused"),
            "Ready": ("False", "Paused", f"{PAUSED}; {BEST}"),
        },
    ),
    (
        "paused with an upgrade available",
        runs("1.0.0", paused()),
        {"Resolved": KEEPS_OLD, "Installed": RUNS_OLD, "Ready": ("True", "Paused", f"{PAUSED}; {BEST}")},
    ),
    (
        "paused before the version that spec.version names is installed: another one runs, so it is not Ready",
        runs("1.0.0", paused(version="1.1.0")),
        {
            "Resolved": KEEPS_OLD,
            "Installed": RUNS_OLD,
            "Ready": ("False", "Paused", f"{PAUSED}; meanwhile 1.0.0 runs; {REQUESTED}"),
        },
    ),
    (
        "the version that spec.version names waits for approval: another one runs, so it is not Ready",
        runs("1.0.0", manual(version="1.1.0")),
        {
            "Resolved": KEEPS_OLD,
            "Installed": RUNS_OLD,
            "Ready": ("False", "ApprovalRequired", f"{WAITS}; meanwhile 1.0.0 runs; {REQUESTED}"),
        },
    ),
    (
        "an upgrade into the range of spec.version waits for approval: what runs is not in it",
        runs("1.0.0", manual(version=">=1.1")),
        {
            "Resolved": KEEPS_OLD,
            "Installed": RUNS_OLD,
            "Ready": (
                "False",
                "ApprovalRequired",
                f'{WAITS}; meanwhile 1.0.0 runs; 1.1.0 of channel stable in catalog "community": the only version in range '
                '">=1.1"',
            ),
        },
    ),
    (
        "an upgrade within the range of spec.version waits for approval: what runs is in it",
        runs("1.0.0", manual(version="1.x")),
        {
            "Resolved": KEEPS_OLD,
            "Installed": RUNS_OLD,
            "Ready": ("True", "UpgradeAvailable", f'{WAITS}; {BEST} in range "1.x"'),
        },
    ),
    (
        "the version that spec.version names waits for approval, and what is installed is unhealthy",
        runs("1.0.0", manual(version="1.1.0"), INSTALLED, UNHEALTHY),
        {
            "Resolved": KEEPS_OLD,
            "Installed": RUNS_OLD,
            **both("Reconciling", "Unhealthy", f"no pods; {WAITS}; meanwhile 1.0.0 runs", "Installing"),
        },
    ),
    (
        "paused with the best version installed",
        runs("1.1.0", paused()),
        {"Resolved": RESOLVED, "Installed": RUNS_NEW, "Ready": ("True", "Paused", f"{PAUSED}; {BEST}")},
    ),
    (
        "paused and unhealthy",
        runs("1.1.0", paused(), INSTALLED, UNHEALTHY),
        {
            "Resolved": RESOLVED,
            "Installed": RUNS_NEW,
            **both("Reconciling", "Unhealthy", f"no pods; {PAUSED}", "Installing"),
        },
    ),
    (
        "paused during an upgrade, which continues",
        runs(
            "1.0.0",
            paused(),
            bundle_deployment=deployment(
                "1.1.0", [INSTALLED, ("Ready", "False", "Upgrading", "phase 2 of 7")], active="alpha-1.0.0"
            ),
        ),
        {
            "Resolved": RESOLVED,
            "Installed": RUNS_OLD,
            **both("Reconciling", "Upgrading", f"phase 2 of 7; {PAUSED}", "Installing"),
        },
    ),
    (
        "paused, and the catalog of the installed bundle is deleted: its successor is not recorded",
        runs("1.0.0", paused(version="1.0.0"), offers=(offer("1.0.0", catalog="vendor"),)),
        {
            "Resolved": KEEPS_OLD,
            "Installed": RUNS_OLD,
            "Ready": (
                "True",
                "Paused",
                f'{PAUSED}; 1.0.0 of channel stable in catalog "vendor": the requested version; catalog "community", which it '
                'came from, was deleted: it follows catalog "vendor", which offers the same bundle',
            ),
        },
    ),
    (
        "paused, and what is requested is not found",
        runs("1.0.0", paused(version="9.9.9"), offers=(offer("1.0.0", state=CatalogState.SERVING),)),
        {
            "Resolved": ("False", "ResolutionFailed", "package 'p' at version '9.9.9' not found"),
            "Installed": RUNS_OLD,
            **both(
                "Stalled",
                "NotResolved",
                f"package 'p' at version '9.9.9' not found: stable has 1.0.0; none is 9.9.9; {PAUSED}",
                "Blocked",
            ),
        },
    ),
]
