"""The dependencies of a bundle that nothing on the cluster meets."""

from __future__ import annotations

from typing import Any

import pytest

from olmctl.bundle.requirements import advice, installed_bundles, unmet_dependencies
from olmkit.gocompat.versions import BlangRange, parse_bundle_version
from operator_controller.resolve.package.package_content import Bundle
from operator_controller.resolve.requirements.constraints import PackageConstraint
from tests.unit.olmctl.bundle.bundles import widgets

PACKAGE = {"type": "olm.package", "value": {"packageName": "tools", "version": ">=1.0.0 <2.0.0"}}
KIND = {"type": "olm.gvk", "value": {"group": "tools.example.com", "version": "v1", "kind": "Tool"}}
NOT_TOOLS = {
    "type": "olm.constraint",
    "value": {"not": {"constraints": [{"package": {"packageName": "tools", "versionRange": ">=0.0.0"}}]}},
}
TOOLS = ("tools.example.com", "v1", "Tool")


def installed(version: str, *properties: dict[str, Any]) -> list[dict[str, Any]]:
    """A BundleDeployment that has a version of the package `tools` installed."""
    import json

    record = {"package": "tools", "name": f"tools.v{version}", "version": version, "properties": json.dumps(properties)}
    return [{"metadata": {"name": "tools"}, "status": {"installed": record}}]


@pytest.mark.parametrize(
    ("dependency", "deployments", "known", "expected"),
    [
        pytest.param(
            PACKAGE,
            [],
            (),
            ['widgets.v1.0.0 requires tools ">=1.0.0 <2.0.0", which is not installed'],
            id="a package that is not installed",
        ),
        pytest.param(
            PACKAGE,
            installed("2.1.0"),
            (),
            ['widgets.v1.0.0 requires tools ">=1.0.0 <2.0.0", and 2.1.0 is installed'],
            id="a package in another version",
        ),
        pytest.param(PACKAGE, installed("1.5.0"), (), [], id="a package that is installed"),
        pytest.param(
            KIND,
            [],
            (),
            ["widgets.v1.0.0 requires a provider of tools.example.com/v1 Tool, which is not installed"],
            id="a kind that nothing provides",
        ),
        pytest.param(KIND, [], (TOOLS,), [], id="a kind that the cluster serves"),
        pytest.param(KIND, installed("1.5.0", KIND), (), [], id="a kind of what is being installed"),
        pytest.param(NOT_TOOLS, [], (), [], id="an exclusion that concerns nothing"),
        pytest.param(
            NOT_TOOLS,
            installed("1.5.0"),
            (),
            ['widgets.v1.0.0 cannot run beside tools.v1.5.0: it requires none of: tools ">=0.0.0"'],
            id="an exclusion of what is installed",
        ),
    ],
)
def test_what_is_missing(
    dependency: dict[str, Any],
    deployments: list[dict[str, Any]],
    known: tuple[tuple[str, str, str], ...],
    expected: list[str],
) -> None:
    facts = widgets(dependencies=[dependency])
    own = facts.package, Bundle(facts.name, "", None, properties=facts.properties)
    unmet = list(unmet_dependencies(own, list(installed_bundles(deployments)), known))
    assert [each.sentence for each in unmet] == expected
    packages = [text for text in expected if " requires tools " in text and text.endswith("which is not installed")]
    assert [each.sentence for each in unmet if each.absent is not None] == packages


@pytest.mark.parametrize(
    ("versions", "offered", "text"),
    [
        pytest.param(">=1.0.0 <2.0.0", None, "", id="nobody knows what the catalogs have"),
        pytest.param(">=1.0.0 <2.0.0", (), ", and no catalog has it", id="no catalog has the package"),
        pytest.param(
            "1.9.0", ("2.0.0", "1.8.0"), ", and no catalog has such a version of it", id="no catalog has the version"
        ),
        pytest.param("1.9.0", ("2.0.0", "1.9.0"), " (olm install tools --version 1.9.0)", id="one version"),
        pytest.param(
            ">=1.0.0 <2.0.0", ("2.0.0", "1.9.0"), " (olm install tools --version '>=1.0.0 <2.0.0')", id="a range"
        ),
        pytest.param(
            ">=1.0.0 !1.9.0", ("1.9.0", "1.8.0"), " (olm install tools --version 1.8.0)", id="a range of catalogs alone"
        ),
        pytest.param(
            ">=1.0.0",
            ("1.9.0-rc.1",),
            " (olm install tools --version 1.9.0-rc.1)",
            id="a prerelease that is in the range",
        ),
    ],
)
def test_the_command_for_a_package_that_is_not_installed(
    versions: str, offered: tuple[str, ...] | None, text: str
) -> None:
    known = None if offered is None else [parse_bundle_version(each) for each in offered]
    assert advice(PackageConstraint("tools", BlangRange.parse(versions)), known) == text
