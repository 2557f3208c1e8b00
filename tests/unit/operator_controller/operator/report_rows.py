"""The table of test_report.py: a sentence, a World and its conditions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from operator_controller.operator.world import PackageClaim, World
from operator_controller.resolve.snapshot.package_snapshot import CatalogState
from tests.unit.operator_controller.operator.worlds import (
    NOW,
    CatalogOffer,
    bundle,
    bundle_annotations,
    deployment,
    image,
    offer,
    operator,
    world,
)

Conditions = Mapping[str, tuple[str, str, str]]

INSTALLED = ("Installed", "True", "InstallationSucceeded", "")
REMOVES = ("Ready", "False", "Removing", "removing custom resources")
HELD = ("Ready", "False", "DeletionHeld", "deletion is held: required by Operator beta")
READY = ("Ready", "True", "Succeeded", "ok")
RESOLVED = ("True", "Success", f'resolved to "{image("1.1.0")}"')
RUNS_OLD = ("True", "Success", f'installed from "{image("1.0.0")}"')
RUNS_NEW = ("True", "Success", f'installed from "{image("1.1.0")}"')
BEST = '1.1.0 of channel stable in catalog "community": the best of 2 versions'
LOSS = {"kind": "CustomResourceDefinition", "name": "as.x", "customResources": 2}
LOST = (
    "CustomResourceDefinition as.x was deleted by another client, and with it all its custom resources (2 when they were last "
    "counted); it was created again, empty"
)
UNKNOWN = ("Unknown", "InstallationStatusUnknown", "bundledeployment status is unknown")
NOT_ATTEMPTED = ("Unknown", "InstallationStatusUnknown", "installation has not been attempted as resolution failed")
FIRST_IDLE = (
    'package "p" is also requested by Operator "beta", which was created first and is not installed; delete one of them'
)
NOT_FOUND = "package 'p' at version '9.9.9' not found"
NEAR_MISS = f"{NOT_FOUND}: stable has 1.0.0, 1.1.0; none is 9.9.9"

MISSING: Mapping[str, Any] = {"missing_bundle": "alpha-1.0.0", "missing_since": NOW - timedelta(seconds=30)}
MISSING_NOTE = (
    'the installed Bundle "alpha-1.0.0" is missing: the installed objects cannot be repaired until rukpak has created it '
    "again"
)
UNRECORDED = (
    'the installed Bundle "alpha-1.0.0" is missing and its version was not recorded: no version is selected until '
    'BundleDeployment "alpha" has installed the bundle of its spec'
)
FOLLOWED = (
    'catalog "community", which it came from, was deleted: it follows catalog "vendor", which offers the same bundle'
)
TOO_LARGE = 'package "p" of catalog "community" is too large to be resolved: it has 50,001 entries'


OTHER_IMAGE = bundle("1.1.0")
"""A Bundle of the name and version that the catalog offers, with another image."""
OTHER_IMAGE["spec"]["source"]["image"]["ref"] = "registry/p@other"


def both(kind: str, reason: str, message: str, inner: str) -> dict[str, tuple[str, str, str]]:
    """Ready False, with Reconciling or Stalled."""
    return {"Ready": ("False", reason, message), kind: ("True", inner, message)}


ROWS: list[tuple[str, World, Conditions]] = [
    (
        "requested just now",
        world(),
        {
            "Resolved": RESOLVED,
            "Installed": UNKNOWN,
            **both("Reconciling", "Installing", "installing 1.1.0: newest of channel stable", "Installing"),
        },
    ),
    (
        "requested, and the BundleDeployment's status is that of an older generation",
        world(bundle_deployment=deployment("1.1.0", [READY], generation=2, observed=1)),
        {
            "Resolved": RESOLVED,
            "Installed": UNKNOWN,
            **both("Reconciling", "Installing", "installing 1.1.0: newest of channel stable", "Installing"),
        },
    ),
    (
        "a version requested just now",
        world(operator({"version": "1.0.0"})),
        {
            "Resolved": ("True", "Success", f'resolved to "{image("1.0.0")}"'),
            "Installed": UNKNOWN,
            **both("Reconciling", "Installing", "installing 1.0.0: requested version", "Installing"),
        },
    ),
    (
        "a range requested just now",
        world(operator({"version": ">=1.0"})),
        {
            "Resolved": RESOLVED,
            "Installed": UNKNOWN,
            **both("Reconciling", "Installing", 'installing 1.1.0: best in range ">=1.0"', "Installing"),
        },
    ),
    (
        "being unpacked",
        world(
            bundle_deployment=deployment(
                "1.1.0",
                [
                    ("HasValidBundle", "False", "UnpackPending", "Waiting for the Bundle"),
                    ("Ready", "False", "Installing", "Waiting for the Bundle"),
                    ("Reconciling", "True", "UnpackPending", "Waiting for the Bundle"),
                ],
            )
        ),
        {
            "Resolved": RESOLVED,
            "Installed": UNKNOWN,
            **both("Reconciling", "Installing", "installing 1.1.0: Waiting for the Bundle", "Installing"),
        },
    ),
    (
        "a bundle that cannot be unpacked",
        world(
            bundle_deployment=deployment(
                "1.1.0",
                [
                    ("HasValidBundle", "False", "UnpackFailed", "no such image"),
                    ("Ready", "False", "Installing", "no such image"),
                    ("Reconciling", "True", "UnpackFailed", "no such image"),
                ],
            )
        ),
        {
            "Resolved": RESOLVED,
            "Installed": ("False", "InstallationFailed", "bundledeployment not ready: no such image"),
            **both("Reconciling", "Retrying", "cannot install 1.1.0: no such image", "Retrying"),
        },
    ),
    (
        "a bundle that cannot be installed",
        world(
            bundle_deployment=deployment(
                "1.1.0",
                [
                    ("HasValidBundle", "True", "UnpackSuccessful", ""),
                    ("Installed", "False", "InstallFailed", "webhooks"),
                    ("Ready", "False", "Installing", "webhooks"),
                    ("Stalled", "True", "Blocked", "webhooks"),
                ],
            )
        ),
        {
            "Resolved": RESOLVED,
            "Installed": ("False", "InstallationFailed", "bundledeployment not ready: webhooks"),
            **both("Stalled", "Blocked", "cannot install 1.1.0: webhooks", "Blocked"),
        },
    ),
    (
        "the first installation in progress is not a failure",
        world(
            bundle_deployment=deployment(
                "1.1.0",
                [
                    ("Installed", "False", "Installing", "phase 2 of 7"),
                    ("Ready", "False", "Installing", "phase 2 of 7"),
                    ("Reconciling", "True", "Installing", "phase 2 of 7"),
                ],
            )
        ),
        {
            "Resolved": RESOLVED,
            "Installed": ("Unknown", "InstallationStatusUnknown", "bundledeployment not ready: phase 2 of 7"),
            **both("Reconciling", "Installing", "installing 1.1.0: phase 2 of 7", "Installing"),
        },
    ),
    (
        "installed and healthy",
        world(runs="1.1.0", bundle_deployment=deployment("1.1.0", [INSTALLED, READY], active="alpha-1.1.0")),
        {"Resolved": RESOLVED, "Installed": RUNS_NEW, "Ready": ("True", "Succeeded", BEST)},
    ),
    (
        "installed and healthy after a definition was deleted with its custom resources",
        world(
            runs="1.1.0",
            bundle_deployment=deployment("1.1.0", [INSTALLED, READY], active="alpha-1.1.0", losses=[LOSS]),
        ),
        {"Resolved": RESOLVED, "Installed": RUNS_NEW, "Ready": ("True", "Succeeded", f"{LOST}; {BEST}")},
    ),
    (
        "installed, and its workloads are rolled out",
        world(
            runs="1.1.0",
            bundle_deployment=deployment(
                "1.1.0",
                [
                    INSTALLED,
                    ("Ready", "False", "Progressing", "Deployment d: 0 of 1"),
                    ("Healthy", "Unknown", "Progressing", ""),
                    ("Reconciling", "True", "Progressing", "Deployment d: 0 of 1"),
                ],
                active="alpha-1.1.0",
            ),
        ),
        {
            "Resolved": RESOLVED,
            "Installed": RUNS_NEW,
            **both("Reconciling", "Progressing", "Deployment d: 0 of 1", "Progressing"),
        },
    ),
    (
        "installed, and a workload has failed",
        world(
            runs="1.1.0",
            bundle_deployment=deployment(
                "1.1.0",
                [
                    INSTALLED,
                    ("Ready", "False", "Unhealthy", "Deployment d: no progress"),
                    ("Healthy", "False", "Unhealthy", ""),
                    ("Stalled", "True", "Unhealthy", "Deployment d: no progress"),
                ],
                active="alpha-1.1.0",
            ),
        ),
        {
            "Resolved": RESOLVED,
            "Installed": RUNS_NEW,
            **both("Stalled", "Unhealthy", "Deployment d: no progress", "Blocked"),
        },
    ),
    (
        "installed, and its objects cannot be read now",
        world(
            runs="1.1.0",
            bundle_deployment=deployment(
                "1.1.0",
                [
                    INSTALLED,
                    ("Ready", "False", "ObjectLookupFailure", "cannot be read now: Deployment"),
                    ("Reconciling", "True", "Retrying", "cannot be read now: Deployment"),
                ],
                active="alpha-1.1.0",
            ),
        ),
        {
            "Resolved": RESOLVED,
            "Installed": RUNS_NEW,
            **both("Reconciling", "Unhealthy", "cannot be read now: Deployment", "Retrying"),
        },
    ),
    (
        "installed, and a changed object cannot be repaired",
        world(
            runs="1.1.0",
            bundle_deployment=deployment(
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
        "an upgrade requested just now",
        world(runs="1.0.0", bundle_deployment=deployment("1.0.0", [INSTALLED, READY], active="alpha-1.0.0")),
        {
            "Resolved": RESOLVED,
            "Installed": RUNS_OLD,
            **both("Reconciling", "Upgrading", "upgrading from 1.0.0 to 1.1.0: newest of channel stable", "Installing"),
        },
    ),
    (
        "an upgrade whose BundleDeployment still reports the old bundle",
        world(
            runs="1.0.0",
            bundle_deployment=deployment("1.1.0", [INSTALLED, READY], active="alpha-1.0.0", generation=2, observed=1),
        ),
        {
            "Resolved": RESOLVED,
            "Installed": RUNS_OLD,
            **both("Reconciling", "Upgrading", "upgrading from 1.0.0 to 1.1.0: newest of channel stable", "Installing"),
        },
    ),
    (
        "an upgrade in progress",
        world(
            runs="1.0.0",
            bundle_deployment=deployment(
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
        "a failed upgrade",
        world(
            runs="1.0.0",
            bundle_deployment=deployment(
                "1.1.0",
                [INSTALLED, ("Ready", "False", "Upgrading", "refused"), ("Stalled", "True", "Blocked", "refused")],
                active="alpha-1.0.0",
            ),
        ),
        {
            "Resolved": RESOLVED,
            "Installed": RUNS_OLD,
            **both("Stalled", "Blocked", "upgrading from 1.0.0 to 1.1.0: refused", "Blocked"),
        },
    ),
    (
        "a version that does not exist, while nothing is installed",
        world(operator({"version": "9.9.9"})),
        {
            "Resolved": ("False", "ResolutionFailed", NOT_FOUND),
            "Installed": NOT_ATTEMPTED,
            **both("Stalled", "NotResolved", NEAR_MISS, "Blocked"),
        },
    ),
    (
        "a version that does not exist, while another one runs",
        world(
            operator({"version": "9.9.9"}),
            runs="1.0.0",
            bundle_deployment=deployment("1.0.0", [INSTALLED, READY], active="alpha-1.0.0"),
        ),
        {
            "Resolved": ("False", "ResolutionFailed", NOT_FOUND),
            "Installed": RUNS_OLD,
            **both("Stalled", "NotResolved", NEAR_MISS, "Blocked"),
        },
    ),
    (
        "a version that does not exist, while the one before it is being installed",
        world(
            operator({"version": "9.9.9"}),
            bundle_deployment=deployment(
                "1.0.0",
                [
                    ("Installed", "False", "Installing", "phase 2 of 7"),
                    ("Reconciling", "True", "Installing", "phase 2 of 7"),
                ],
            ),
        ),
        {
            "Resolved": ("False", "ResolutionFailed", NOT_FOUND),
            "Installed": ("Unknown", "InstallationStatusUnknown", "bundledeployment not ready: phase 2 of 7"),
            **both("Stalled", "NotResolved", NEAR_MISS, "Blocked"),
        },
    ),
    (
        "a version that does not exist, after the one before it failed",
        world(
            operator({"version": "9.9.9"}),
            bundle_deployment=deployment("1.0.0", [("Installed", "False", "InstallFailed", "webhooks")]),
        ),
        {
            "Resolved": ("False", "ResolutionFailed", NOT_FOUND),
            "Installed": ("False", "InstallationFailed", "bundledeployment not ready: webhooks"),
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
                "package 'p' not found: there is no Catalog yet: create one that has package \"p\"",
                "WaitingForCatalog",
            ),
        },
    ),
    (
        "a catalog that is being read",
        world(offers=(CatalogOffer("community", state=CatalogState.PENDING, message="unpacking"),)),
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
        "another image of the running bundle is being unpacked",
        world(
            runs=OTHER_IMAGE,
            bundle_deployment=deployment(
                "1.1.0",
                [
                    INSTALLED,
                    ("Healthy", "True", "Healthy", ""),
                    ("Ready", "False", "Upgrading", "Waiting for the Bundle"),
                    ("Reconciling", "True", "UnpackPending", "Waiting for the Bundle"),
                ],
                active="alpha-1.1.0",
            ),
        ),
        {
            "Resolved": RESOLVED,
            "Installed": ("True", "Success", 'installed from "registry/p@other"'),
            **both(
                "Reconciling",
                "Upgrading",
                "installing another image of 1.1.0: Waiting for the Bundle",
                "Installing",
            ),
        },
    ),
    (
        "another image of the running bundle cannot be installed",
        world(
            runs=OTHER_IMAGE,
            bundle_deployment=deployment(
                "1.1.0",
                [
                    INSTALLED,
                    ("Healthy", "True", "Healthy", ""),
                    ("Ready", "False", "Upgrading", "webhooks"),
                    ("Stalled", "True", "Blocked", "webhooks"),
                ],
                active="alpha-1.1.0",
            ),
        ),
        {
            "Resolved": RESOLVED,
            "Installed": ("True", "Success", 'installed from "registry/p@other"'),
            **both("Stalled", "Blocked", "installing another image of 1.1.0: webhooks", "Blocked"),
        },
    ),
    (
        "another image of the running bundle is desired, and the running one is healthy",
        world(
            runs=OTHER_IMAGE,
            bundle_deployment=deployment(
                "1.1.0",
                [INSTALLED, READY],
                active="alpha-1.1.0",
            ),
        ),
        {
            "Resolved": RESOLVED,
            "Installed": ("True", "Success", 'installed from "registry/p@other"'),
            **both("Reconciling", "Upgrading", "installing another image of 1.1.0: ok", "Installing"),
        },
    ),
    (
        "the catalog of the installed package was deleted, and no other one offers its bundle",
        world(runs="1.0.0", offers=(), bundle_deployment=deployment("1.0.0", [INSTALLED, READY], active="alpha-1.0.0")),
        {
            "Resolved": ("True", "Success", f'resolved to "{image("1.0.0")}"'),
            "Installed": RUNS_OLD,
            "Ready": (
                "True",
                "CatalogDeleted",
                '1.0.0 is kept: catalog "community", which it came from, was deleted, and no other catalog that is served offers '
                'bundle "p.v1.0.0": create a Catalog that does, and upgrades continue from there',
            ),
        },
    ),
    (
        "the catalog of the installed package is Unavailable",
        world(
            runs="1.0.0",
            offers=(CatalogOffer("community", state=CatalogState.UNAVAILABLE),),
            bundle_deployment=deployment("1.0.0", [INSTALLED, READY], active="alpha-1.0.0"),
        ),
        {
            "Resolved": ("True", "Success", f'resolved to "{image("1.0.0")}"'),
            "Installed": RUNS_OLD,
            "Ready": (
                "True",
                "CatalogUnavailable",
                '1.0.0 is kept: catalog "community", which it came from, has spec.availability Unavailable, so no other version '
                "is installed",
            ),
        },
    ),
    (
        "the running bundle was withdrawn by its publisher",
        world(
            runs="1.2.0",
            bundle_deployment=deployment("1.2.0", [INSTALLED, READY], active="alpha-1.2.0"),
        ),
        {
            "Resolved": ("True", "Success", f'resolved to "{image("1.2.0")}"'),
            "Installed": ("True", "Success", f'installed from "{image("1.2.0")}"'),
            "Ready": (
                "True",
                "NotOffered",
                '1.2.0 is kept: catalog "community" does not offer it any more, and what it offers is older',
            ),
        },
    ),
    (
        "the catalog of the installed package was deleted, and another one offers its bundle",
        world(
            runs="1.1.0",
            offers=(offer("1.0.0", "1.1.0", catalog="vendor"),),
            bundle_deployment=deployment("1.1.0", [INSTALLED, READY], active="alpha-1.1.0"),
        ),
        {
            "Resolved": RESOLVED,
            "Installed": RUNS_NEW,
            **both("Reconciling", "FollowingCatalog", FOLLOWED, "FollowingCatalog"),
        },
    ),
    (
        "the successor of a deleted catalog is recorded",
        world(
            runs="1.1.0",
            offers=(offer("1.0.0", "1.1.0", catalog="vendor"),),
            bundle_deployment=deployment(
                "1.1.0",
                [INSTALLED, READY],
                active="alpha-1.1.0",
                annotations=bundle_annotations("1.1.0", catalog="vendor"),
            ),
        ),
        {
            "Resolved": RESOLVED,
            "Installed": RUNS_NEW,
            "Ready": ("True", "Succeeded", f"{BEST.replace('community', 'vendor')}; {FOLLOWED}"),
        },
    ),
    (
        "the successor of a deleted catalog offers an upgrade too",
        world(
            runs="1.0.0",
            offers=(offer("1.0.0", "1.1.0", catalog="vendor"),),
            bundle_deployment=deployment("1.0.0", [INSTALLED, READY], active="alpha-1.0.0"),
        ),
        {
            "Resolved": RESOLVED,
            "Installed": RUNS_OLD,
            **both("Reconciling", "FollowingCatalog", FOLLOWED, "FollowingCatalog"),
        },
    ),
    (
        "the successor of a deleted catalog is recorded by the BundleDeployment and not yet by the Bundle",
        world(
            runs="1.0.0",
            offers=(offer("1.0.0", "1.1.0", catalog="vendor"),),
            bundle_deployment=deployment(
                "1.0.0",
                [INSTALLED, READY],
                active="alpha-1.0.0",
                annotations=bundle_annotations("1.0.0", catalog="vendor"),
            ),
        ),
        {
            "Resolved": RESOLVED,
            "Installed": RUNS_OLD,
            **both("Reconciling", "FollowingCatalog", FOLLOWED, "FollowingCatalog"),
        },
    ),
    (
        "the successor of a deleted catalog offers a bundle that cannot be installed",
        world(
            runs="1.0.0",
            offers=(CatalogOffer("vendor", package=offer("1.0.0", "1.1.0", bundle={"mediaType": "helm"}).package),),
            bundle_deployment=deployment("1.0.0", [INSTALLED, READY], active="alpha-1.0.0"),
        ),
        {
            "Resolved": RESOLVED,
            "Installed": RUNS_OLD,
            **both("Reconciling", "FollowingCatalog", FOLLOWED, "FollowingCatalog"),
        },
    ),
    (
        "the successor of a deleted catalog does not have the requested version",
        world(
            operator({"version": "2.0.0"}),
            runs="1.0.0",
            offers=(offer("1.0.0", "1.1.0", catalog="vendor"),),
            bundle_deployment=deployment("1.0.0", [INSTALLED, READY], active="alpha-1.0.0"),
        ),
        {
            "Resolved": ("False", "ResolutionFailed", "package 'p' at version '2.0.0' not found"),
            "Installed": RUNS_OLD,
            **both("Reconciling", "FollowingCatalog", FOLLOWED, "FollowingCatalog"),
        },
    ),
    (
        "an upgrade of a deleted catalog is in progress, and its successor offers a bundle that cannot be installed",
        world(
            runs="1.0.0",
            offers=(CatalogOffer("vendor", package=offer("1.0.0", "1.1.0", bundle={"mediaType": "helm"}).package),),
            bundle_deployment=deployment("1.1.0", [INSTALLED, READY], active="alpha-1.0.0"),
        ),
        {
            "Resolved": RESOLVED,
            "Installed": RUNS_OLD,
            **both("Stalled", "Blocked", f"unknown bundle mediatype: helm; {FOLLOWED}", "Blocked"),
        },
    ),
    (
        "a package that is too large to be resolved",
        world(offers=(CatalogOffer("community", state=CatalogState.TOO_LARGE, message="it has 50,001 entries"),)),
        {
            "Resolved": ("False", "ResolutionFailed", TOO_LARGE),
            "Installed": NOT_ATTEMPTED,
            **both("Stalled", "NotResolved", TOO_LARGE, "Blocked"),
        },
    ),
    (
        "an invalid range, while nothing runs",
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
                '"1.2.3", ">=1.2.0 <2.0.0", "~1.4" or "1.x"',
                "Blocked",
            ),
        },
    ),
    (
        "a second Operator for the package",
        world(claims=(PackageClaim(True, True, "2", "alpha"), PackageClaim(False, False, "3", "beta"))),
        {
            "Resolved": (
                "False",
                "ResolutionFailed",
                'package "p" is already managed by Operator "beta"; delete the one that has installed nothing',
            ),
            "Installed": NOT_ATTEMPTED,
            **both(
                "Stalled",
                "NotResolved",
                'package "p" is already managed by Operator "beta"; delete the one that has installed nothing',
                "Blocked",
            ),
        },
    ),
    (
        "a second Operator for a package that the first one cannot install",
        world(claims=(PackageClaim(True, True, "2", "alpha"), PackageClaim(True, True, "1", "beta"))),
        {
            "Resolved": ("False", "ResolutionFailed", FIRST_IDLE),
            "Installed": NOT_ATTEMPTED,
            **both("Stalled", "NotResolved", FIRST_IDLE, "Blocked"),
        },
    ),
    (
        "an unknown media type",
        world(offers=(offer("1.1.0", bundle={"mediaType": "helm"}),)),
        {
            "Resolved": RESOLVED,
            "Installed": ("False", "InstallationFailed", "unknown bundle mediatype: helm"),
            **both("Stalled", "Blocked", "unknown bundle mediatype: helm", "Blocked"),
        },
    ),
    (
        "a BundleDeployment of another owner",
        world(bundle_deployment=deployment("1.1.0", [READY], owners=[])),
        {
            "Resolved": RESOLVED,
            "Installed": (
                "False",
                "InstallationFailed",
                'BundleDeployment "alpha" already exists and is owned by no Operator: to have this Operator take it over, '
                "run kubectl annotate "
                "bundledeployments.core.rukpak.io alpha operators.operatorframework.io/adopt=true; or create the Operator under "
                "another name",
            ),
            **both(
                "Stalled",
                "Blocked",
                'BundleDeployment "alpha" already exists and is owned by no Operator: to have this Operator take it over, '
                "run kubectl annotate "
                "bundledeployments.core.rukpak.io alpha operators.operatorframework.io/adopt=true; or create the Operator under "
                "another name",
                "Blocked",
            ),
        },
    ),
    (
        "a BundleDeployment that is being deleted",
        world(bundle_deployment=deployment("1.1.0", deleting=True)),
        {
            "Resolved": RESOLVED,
            "Installed": UNKNOWN,
            **both(
                "Reconciling",
                "Installing",
                'BundleDeployment "alpha" is being deleted: 1.1.0 will be installed again when the deletion is complete',
                "Installing",
            ),
        },
    ),
    (
        "a BundleDeployment that is being deleted while its bundle runs",
        world(
            runs="1.1.0",
            bundle_deployment=deployment(
                "1.1.0", [INSTALLED, READY], active="alpha-1.1.0", deleting=True, generation=2, observed=1
            ),
        ),
        {
            "Resolved": RESOLVED,
            "Installed": RUNS_NEW,
            **both(
                "Reconciling",
                "Installing",
                'BundleDeployment "alpha" is being deleted: 1.1.0 will be installed again when the deletion is complete',
                "Installing",
            ),
        },
    ),
    (
        "a BundleDeployment that is being deleted and reports what is left",
        world(
            runs="1.1.0",
            bundle_deployment=deployment("1.1.0", [INSTALLED, REMOVES], active="alpha-1.1.0", deleting=True),
        ),
        {
            "Resolved": RESOLVED,
            "Installed": RUNS_NEW,
            **both(
                "Reconciling",
                "Installing",
                'BundleDeployment "alpha" is being deleted: 1.1.0 will be installed again when the deletion is complete '
                "(removing custom resources)",
                "Installing",
            ),
        },
    ),
    (
        "a BundleDeployment whose deletion is held",
        world(
            runs="1.1.0",
            bundle_deployment=deployment("1.1.0", [INSTALLED, HELD], active="alpha-1.1.0", deleting=True),
        ),
        {
            "Resolved": RESOLVED,
            "Installed": RUNS_NEW,
            **both(
                "Reconciling",
                "Installing",
                'BundleDeployment "alpha" is being deleted: 1.1.0 will be installed again when the deletion is complete '
                "(deletion is held: required by Operator beta)",
                "Installing",
            ),
        },
    ),
    (
        "a BundleDeployment that is being deleted while no catalog offers its bundle",
        world(
            runs="1.1.0",
            offers=(),
            bundle_deployment=deployment("1.1.0", [INSTALLED, REMOVES], active="alpha-1.1.0", deleting=True),
        ),
        {
            "Resolved": RESOLVED,
            "Installed": RUNS_NEW,
            **both(
                "Reconciling",
                "Installing",
                'BundleDeployment "alpha" is being deleted: a version will be selected when the deletion is complete '
                "(removing custom resources)",
                "Installing",
            ),
        },
    ),
    (
        "the installed Bundle is missing while an upgrade fails",
        world(
            runs="1.0.0",
            **MISSING,
            bundle_deployment=deployment(
                "1.1.0",
                [
                    INSTALLED,
                    ("Ready", "False", "Upgrading", "no such image"),
                    ("Reconciling", "True", "UnpackFailed", "no such image"),
                ],
                active="alpha-1.0.0",
            ),
        ),
        {
            "Resolved": RESOLVED,
            "Installed": (*RUNS_OLD[:2], f'{RUNS_OLD[2]}; its Bundle "alpha-1.0.0" is missing'),
            **both(
                "Reconciling", "Upgrading", f"upgrading from 1.0.0 to 1.1.0: no such image; {MISSING_NOTE}", "Retrying"
            ),
        },
    ),
    (
        "the installed Bundle is missing and the BundleDeployment is Ready",
        world(
            operator({"version": "1.0.0"}),
            runs="1.0.0",
            **MISSING,
            bundle_deployment=deployment("1.0.0", [INSTALLED, READY], active="alpha-1.0.0"),
        ),
        {
            "Resolved": ("True", "Success", f'resolved to "{image("1.0.0")}"'),
            "Installed": (*RUNS_OLD[:2], f'{RUNS_OLD[2]}; its Bundle "alpha-1.0.0" is missing'),
            **both("Reconciling", "Unhealthy", MISSING_NOTE, "Retrying"),
        },
    ),
    (
        "the installed Bundle is missing and was not recorded",
        world(**MISSING, bundle_deployment=deployment("1.1.0", [INSTALLED, READY], active="alpha-1.0.0")),
        {
            "Resolved": ("False", "ResolutionFailed", UNRECORDED),
            "Installed": (
                "Unknown",
                "InstallationStatusUnknown",
                'the installed Bundle "alpha-1.0.0" is missing',
            ),
            **both("Reconciling", "NotResolved", UNRECORDED, "Retrying"),
        },
    ),
]
