"""The reason why an Operator would be refused a version."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from olmctl.questions.session import Session
from olmctl.questions.upgrade import version_patch, version_refusal

Object = dict[str, Any]


class Client:
    """A cluster with one Operator and without catalogs."""

    def __init__(self, **spec: Any) -> None:
        installed = {"name": "hello.v0.2.0", "version": "0.2.0"}
        self.operator: Object = {
            "metadata": {"name": "hello"},
            "spec": {"packageName": "hello", **spec},
            "status": {"installed": installed},
        }

    async def get(self, *_: object) -> Object:
        """The Operator."""
        return self.operator

    async def list(self, *_: object, **__: object) -> tuple[list[Object], str]:
        """No Package."""
        return [], "1"


class Desk:
    """A session with that client."""

    def __init__(self, client: Client) -> None:
        self.client = client


@pytest.mark.parametrize(
    ("client", "version", "text"),
    [
        pytest.param(Client(), "0.2.0", "", id="what runs"),
        pytest.param(Client(), "0.1.0", "hello: no catalog upgrades 0.2.0 to 0.1.0: no upgrade leads", id="no edge"),
        pytest.param(Client(upgradeConstraintPolicy="Ignore"), "0.1.0", "", id="edges do not count"),
        pytest.param(
            Client(excludedVersions=["0.3.0"]), "0.3.0", "hello: spec.excludedVersions has 0.3.0", id="it is excluded"
        ),
    ],
)
def test_the_refusal_of_a_version(client: Client, version: str, text: str) -> None:
    found = asyncio.run(version_refusal(cast("Session", Desk(client)), "hello", version))
    assert found.startswith(text)
    assert bool(found) == bool(text)


def test_for_what_a_clusterextension_sets_its_field_is_advised() -> None:
    client = Client()
    owner = {"apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterExtension", "name": "hi", "controller": True}
    client.operator["metadata"]["ownerReferences"] = [owner]
    found = asyncio.run(version_refusal(cast("Session", Desk(client)), "hello", "0.1.0"))
    assert "; spec.source.catalog.upgradeConstraintPolicy SelfCertified of ClusterExtension hi permits all" in found
    assert "--" not in found


APPROVED = {"annotations": {"operators.operatorframework.io/approved-version": "1.0.0"}}


@pytest.mark.parametrize(
    ("approval", "reviewed", "metadata"),
    [
        pytest.param("Manual", "1.0.0", APPROVED, id="the review is the approval"),
        pytest.param("Manual", "", None, id="what was not reviewed waits"),
        pytest.param("Manual", "1.1.0", None, id="so does another version"),
        pytest.param("Automatic", "1.0.0", None, id="nothing waits for approval"),
    ],
)
def test_the_request_for_one_version_approves_what_was_reviewed(approval: str, reviewed: str, metadata: Any) -> None:
    found = {"metadata": {"name": "hello"}, "spec": {"approval": approval}}
    patch = version_patch(found, "1.0.0", reviewed, {"upgradeConstraintPolicy": "Ignore"})
    assert patch["spec"] == {"version": "1.0.0", "upgradeConstraintPolicy": "Ignore"}
    assert patch.get("metadata") == metadata
