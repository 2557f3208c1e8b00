"""The model check of catalogs, in opm's words (formats 1.7): what is wrong with the parts of a package together.

Called package by package by catalogd for the Catalog's status, and by olmkit.fbc.checks.catalog_check for opm's own answer in
its order. Never reads a file, never raises: what is wrong is a value. Pure.

opm looks in two stages. A: packages, channels, bundles, entries without bundles, deprecations, and it ends at the first problem.
B, only if A found nothing anywhere: all that is wrong with channels, bundles and graphs, as a tree. Here both go by package.

How a caller that streams uses it: for each blob call olmkit.fbc.catalog's reader of its schema. What that raises (BadBlob) is a
fault; so is what object_faults.check_objects raises, if the time for that is there. Of a bundle keep only `bundle_part(bundle)`,
which goes to JSON and back; packages, channels and deprecations are read again when the package's turn comes. Then
`check_package(PackageParts(...))`, one package at a time, also for names that only channels, bundles or deprecations mention, ""
included: then nothing need be said of unknown packages, duplicates or blobs without a package by anybody else. `verdict.count`
makes no text; take as many of `verdict.sentences()` as are kept, and cut each: a sentence can be as long as all names in the
catalog. The first problem of a catalog in opm's order is the least of all packages' `Problem`s by `at`.
"""

from __future__ import annotations

from olmkit.fbc.checks import load_checks, model_checks
from olmkit.fbc.checks.load_checks import check_bundle
from olmkit.fbc.checks.package_blobs import CheckedBundle, CheckResult, LoadStep, PackageBlobs, Problem

__all__ = ["CheckResult", "CheckedBundle", "LoadStep", "PackageBlobs", "Problem", "check_bundle", "check_package"]


def check_package(parts: PackageBlobs) -> CheckResult:
    """Everything that is wrong with one package."""
    problems = list(load_checks.problems(parts))
    is_worth_a_look = not problems and len(parts.packages) > 0
    return CheckResult(problems, model_checks.tree(parts) if is_worth_a_look else None)
