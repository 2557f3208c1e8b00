"""Deprecations on the real API server with the real catalogd."""

from __future__ import annotations

from typing import Any

from devcluster.watch import condition, is_true
from tests.cluster.operator_controller.conftest import Scene, blobs
from tests.e2e.packages import catalog_file


def deprecations(package: str, *entries: tuple[str, str, str]) -> dict[str, Any]:
    """The blob of these deprecations: schema, name and message."""
    return {
        "schema": "olm.deprecations",
        "package": package,
        "entries": [
            {"reference": {"schema": schema} | ({"name": name} if name else {}), "message": message}
            for schema, name, message in entries
        ],
    }


def test_what_is_deprecated_is_reported_by_conditions_of_their_own(scene: Scene) -> None:
    content = blobs(scene.name, ["1.0.0", "1.1.0"], {})
    deprecated = deprecations(
        scene.name,
        ("olm.package", "", "use another package"),
        ("olm.channel", "stable", "use another channel"),
        ("olm.bundle", f"{scene.name}.v1.0.0", "has a bug"),
    )
    scene.repository().push_files(catalog_file([*content, deprecated]))
    scene.ready_catalog(scene.repository().reference)
    name = scene.operator(scene.name, version="1.0.0")
    scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")
    reported = scene.condition_when(name, "BundleDeprecated", "True", "has a bug")
    assert is_true(reported, "Ready")
    assert condition(reported, "Deprecated")["message"] == "use another package; use another channel; has a bug"
    assert condition(reported, "PackageDeprecated")["reason"] == "Deprecated"
    assert reported["status"]["deprecations"] == {
        "known": True,
        "package": "use another package",
        "channels": [{"name": "stable", "message": "use another channel"}],
        "bundle": "has a bug",
    }

    scene.patch_operator(name, {"version": None})
    scene.install(name, "1.1.0")
    upgraded = scene.ready_operator(name, "1.1.0")
    assert not is_true(upgraded, "BundleDeprecated")
    assert is_true(upgraded, "ChannelDeprecated")

    scene.repository().push_files(catalog_file(content))
    scene.operator_when(name, "nothing is deprecated", lambda operator: not is_true(operator, "Deprecated"))
