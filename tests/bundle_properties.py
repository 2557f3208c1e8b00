"""Properties of bundles as catalogs contain them, for tests of every tier."""

from __future__ import annotations

from typing import Any


def package_required(package: str, version_range: str = ">=1.0.0") -> dict[str, Any]:
    """The property that requires a package."""
    return {"type": "olm.package.required", "value": {"packageName": package, "versionRange": version_range}}
