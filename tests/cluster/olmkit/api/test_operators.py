"""The pattern of Operator.spec.version on the real API server, because Go's regular expressions differ from Python's."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest

from devcluster.cluster import Cluster
from devcluster.errors import DevclusterError
from tests.unit.olmkit.gocompat.test_version_range import ADMITTED, REFUSED


def operators(versions: Iterable[str]) -> str:
    """A List with one Operator for each version."""
    items = [
        {
            "apiVersion": "operators.operatorframework.io/v1alpha1",
            "kind": "Operator",
            "metadata": {"name": f"version-{number}"},
            "spec": {"packageName": "p", "version": version},
        }
        for number, version in enumerate(versions)
    ]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def test_versions_and_ranges_that_are_accepted(definitions: Cluster) -> None:
    definitions.kubectl("apply", "--dry-run=server", "-f", "-", input=operators(ADMITTED))


def test_versions_that_are_refused(definitions: Cluster) -> None:
    with pytest.raises(DevclusterError) as raised:
        definitions.kubectl("apply", "--dry-run=server", "-f", "-", input=operators(REFUSED))
    for version in REFUSED:
        assert f'invalid version expression "{version}": ' in str(raised.value)


@pytest.mark.parametrize(
    ("versions", "refused"),
    [
        pytest.param(["1.2.3", "0.0.0-alpha.1+build", "1.2.4+a.b-c", "1.2.3-rc.1"], "", id="exact versions"),
        pytest.param([f"1.0.{number}" for number in range(32)], "", id="as many as are permitted"),
        pytest.param([f"1.0.{number}" for number in range(33)], "must have at most 32 items", id="too many"),
        pytest.param(["1.2.3", "1.2.3"], "Duplicate value", id="twice the same"),
        pytest.param(["1.2.3", "1.2.3+1"], "build metadata does not count", id="the same but for build metadata"),
        pytest.param(["1.2"], 'invalid version "1.2": an excluded version is one exact version', id="a short version"),
        pytest.param(["v1.2.3"], 'invalid version "v1.2.3"', id="a leading v"),
        pytest.param([">=1.2.3"], 'invalid version ">=1.2.3"', id="a range"),
        pytest.param(["1.2.03"], 'invalid version "1.2.03"', id="a leading zero"),
        pytest.param(["9999999999999999999.0.0"], "invalid version", id="a number of more than 64 bits"),
        pytest.param([""], 'invalid version ""', id="nothing"),
        pytest.param(["1.0.0-" + "a" * 60], "64", id="a long one"),
    ],
)
def test_excluded_versions(versions: list[str], refused: str, definitions: Cluster) -> None:
    resource = {"apiVersion": "operators.operatorframework.io/v1alpha1", "kind": "Operator", "metadata": {"name": "a"}}
    manifest = json.dumps({**resource, "spec": {"packageName": "a", "excludedVersions": versions}})
    if not refused:
        definitions.kubectl("create", "--dry-run=server", "-f", "-", input=manifest)
        return
    with pytest.raises(DevclusterError) as raised:
        definitions.kubectl("create", "--dry-run=server", "-f", "-", input=manifest)
    assert refused in str(raised.value)


def test_a_long_version_is_refused(definitions: Cluster) -> None:
    with pytest.raises(DevclusterError, match="64"):
        definitions.kubectl("apply", "--dry-run=server", "-f", "-", input=operators([" || ".join(["1.0.0"] * 9)]))
