"""The table of test_report.py: a sentence, a World and the conditions that are told of it."""

from __future__ import annotations

from collections.abc import Mapping

from operator_controller.resolve.candidates import Offer, Standing
from operator_controller.world import Claim, World
from tests.unit.operator_controller.builders import deployment, image, offer, operator, world

Conditions = Mapping[str, tuple[str, str, str]]

INSTALLED = ("Installed", "True", "InstallationSucceeded", "")
READY = ("Ready", "True", "Succeeded", "ok")
RESOLVED = ("True", "Success", f'resolved to "{image("1.1.0")}"')
RUNS_OLD = ("True", "Success", f'installed from "{image("1.0.0")}"')
RUNS_NEW = ("True", "Success", f'installed from "{image("1.1.0")}"')
BEST = '1.1.0 of channel stable in catalog "community": the best of 2 versions'
UNKNOWN = ("Unknown", "InstallationStatusUnknown", "bundledeployment status is unknown")
NOT_ATTEMPTED = ("Unknown", "InstallationStatusUnknown", "installation has not been attempted as resolution failed")
FIRST_IDLE = (
    'package "p" is asked for by Operator "beta" too, which came first and is not installed; delete one of them'
)
NOT_FOUND = "package 'p' at version '9.9.9' not found"
NEAR_MISS = f"{NOT_FOUND}: stable has 1.0.0, 1.1.0; none is 9.9.9"


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
            **both("Reconciling", "NotInstalled", "installing 1.1.0: newest of channel stable", "Installing"),
        },
    ),
    (
        "asked for, and the BundleDeployment's status does not speak of it yet",
        world(deployment=deployment("1.1.0", [READY], generation=2, observed=1)),
        {
            "Resolved": RESOLVED,
            "Installed": UNKNOWN,
            **both("Reconciling", "NotInstalled", "installing 1.1.0: newest of channel stable", "Installing"),
        },
    ),
    (
        "a version asked for just now",
        world(operator({"version": "1.0.0"})),
        {
            "Resolved": ("True", "Success", f'resolved to "{image("1.0.0")}"'),
            "Installed": UNKNOWN,
            **both("Reconciling", "NotInstalled", "installing 1.0.0: asked for", "Installing"),
        },
    ),
    (
        "a range asked for just now",
        world(operator({"version": ">=1.0"})),
        {
            "Resolved": RESOLVED,
            "Installed": UNKNOWN,
            **both("Reconciling", "NotInstalled", 'installing 1.1.0: best in range ">=1.0"', "Installing"),
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
            **both("Reconciling", "Upgrading", "upgrading from 1.0.0 to 1.1.0: newest of channel stable", "Installing"),
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
            **both("Reconciling", "Upgrading", "upgrading from 1.0.0 to 1.1.0: newest of channel stable", "Installing"),
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
        world(claims=(Claim(True, True, "2", "alpha"), Claim(False, False, "3", "beta"))),
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
        "a second Operator for a package that the first one cannot install",
        world(claims=(Claim(True, True, "2", "alpha"), Claim(True, True, "1", "beta"))),
        {
            "Resolved": ("False", "ResolutionFailed", FIRST_IDLE),
            "Installed": NOT_ATTEMPTED,
            **both("Stalled", "NotResolved", FIRST_IDLE, "Blocked"),
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
