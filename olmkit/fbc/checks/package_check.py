"""The check of one package, with opm's messages (formats 1.7).

Never reads a file and never raises: problems are values. Pure.

opm checks in two steps. The load checks (packages, channels, bundles, entries without bundles, deprecations) stop at the first
problem. The model checks (channels, bundles and graphs) run if the whole catalog loads; their errors form a tree. Here both run
package by package.

A caller that streams calls the function of olmkit.fbc.catalog for the schema of each blob. A BadBlob from it is an error of the
package. Of a bundle only `check_bundle(bundle)` needs to be kept. Then the caller calls `check_package(PackageBlobs(...))` once
for each name that any blob mentions, "" included, so that unknown packages, duplicates and blobs without a package are reported
too. `CheckResult.count` formats no text. Each of `CheckResult.sentences()` can be as long as all names in the catalog: take only
as many as are stored, and truncate them. The first problem of a catalog in opm's order is the one with the smallest
`Problem.position`.
"""

from __future__ import annotations

from olmkit.fbc.checks import load_checks, model_checks
from olmkit.fbc.checks.load_checks import check_bundle
from olmkit.fbc.checks.package_blobs import CheckedBundle, CheckResult, LoadStep, PackageBlobs, Problem

__all__ = ["CheckResult", "CheckedBundle", "LoadStep", "PackageBlobs", "Problem", "check_bundle", "check_package"]


def check_package(parts: PackageBlobs) -> CheckResult:
    """All problems of one package."""
    problems = list(load_checks.problems(parts))
    is_loaded = not problems and len(parts.packages) > 0
    return CheckResult(problems, model_checks.tree(parts) if is_loaded else None)
