"""The apply of an object that exists already: it is taken over, or the error says whose it is."""

from __future__ import annotations

from typing import Any, cast

import pytest

from olmkit.api.bundledeployments import OWNER_UID_LABEL
from olmkit.api.meta import Kind
from olmkit.errors import Conflict, OlmError, Waiting
from olmkit.runtime.client import Client
from rukpak.bundledeployment.apply.adoption import Adoption
from rukpak.bundledeployment.apply.apply_errors import ApplyErrors
from rukpak.bundledeployment.apply.owner_lookup import Ownership, find_owners
from rukpak.bundledeployment.world import CRD, ApplyRejected
from rukpak.format.objects import ObjectKey

CRDS = Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions")
NAME = "boats.example.com"


class Server:
    """Answers every GET with one object."""

    def __init__(self, live: dict[str, Any]) -> None:
        self.live = live

    async def get(self, kind: Kind, name: str, namespace: str | None) -> dict[str, Any]:
        return self.live


def live(**metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": NAME, "uid": "2", "labels": {OWNER_UID_LABEL: "gone"}, **metadata}}


@pytest.mark.parametrize(
    ("found", "kind", "message"),
    [
        pytest.param(
            live(),
            ApplyRejected,
            f"CustomResourceDefinition.apiextensions.k8s.io {NAME} already exists and belongs to a BundleDeployment that does "
            "not exist (uid gone): set adoptionPolicy to IfUnowned to take it over with its custom resources",
            id="an object of a BundleDeployment that does not exist",
        ),
        pytest.param(
            live(labels={"app.kubernetes.io/part-of": "olm-suite"}),
            ApplyRejected,
            f"CustomResourceDefinition.apiextensions.k8s.io {NAME} already exists and seems to be a part of olm-suite, which no "
            "bundle may replace: if it is not, remove its app.kubernetes.io/part-of, and set adoptionPolicy to IfUnowned to take "
            "it over with its custom resources",
            id="a part of the suite",
        ),
        pytest.param(
            live(deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["customresourcecleanup.apiextensions.k8s.io"]),
            Waiting,
            f"waiting until it is gone: CustomResourceDefinition.apiextensions.k8s.io {NAME} "
            "(finalizers: customresourcecleanup.apiextensions.k8s.io)",
            id="the same while it is being deleted",
        ),
        pytest.param(
            live(deletionTimestamp="2026-01-01T00:00:00Z", labels=None),
            Waiting,
            f"waiting until it is gone: CustomResourceDefinition.apiextensions.k8s.io {NAME}",
            id="an object that is not managed, while it is being deleted",
        ),
    ],
)
async def test_an_object_that_exists_already(found: dict[str, Any], kind: type[OlmError], message: str) -> None:
    client = cast("Client", Server(found))
    errors = ApplyErrors(Adoption(client, lambda uid: ""))
    with pytest.raises(OlmError) as caught:
        await errors.explain("1", CRDS, {"metadata": {"name": NAME}}, Conflict(409, "Conflict", "conflict"))
    assert (type(caught.value), caught.value.message) == (kind, message)


class Cluster(Server):
    """Has an unrelated ClusterServiceVersion too."""

    async def pages(self, kind: Kind, *_: Any, **__: Any) -> Any:
        yield [{"metadata": {"name": "other.v1", "namespace": "operators"}}], ""


async def test_a_mark_that_names_nobody_blames_nobody() -> None:
    found = live(labels={"olm.managed": "true"})
    claims = await find_owners(cast("Client", Cluster(found)), found["metadata"])
    assert list(claims.values()) == [None]
    adoption = Adoption(cast("Client", Cluster(found)), lambda uid: "")
    key = ObjectKey(*CRD, "", NAME)
    text = adoption._ownership(key, found["metadata"], Ownership("OLM v0"), next(iter(claims)), None)
    assert text == (
        "has the label olm.managed of OLM v0, which does not say whose it is: if it is of the operator that you move, remove the "
        "label, and set adoptionPolicy to IfUnowned to take it over with its custom resources"
    )
