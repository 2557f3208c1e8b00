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


def test_a_long_version_is_refused(definitions: Cluster) -> None:
    with pytest.raises(DevclusterError, match="64"):
        definitions.kubectl("apply", "--dry-run=server", "-f", "-", input=operators([" || ".join(["1.0.0"] * 9)]))
