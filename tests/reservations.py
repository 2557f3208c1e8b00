"""What a client of the operator reservations does: of a process in tests/cluster, and of a pod in tests/node."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.api.meta import Kind
from olmkit.errors import ApiError, Invalid
from olmkit.runtime.client import Client

GROUP = "reservations.example.com"
CRD = f"reservations.{GROUP}"
V1, V2 = (Kind(GROUP, version, "Reservation", "reservations", namespaced=True) for version in ("v1", "v2"))
DEFINITIONS = Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions")

Object = dict[str, Any]


def reservation(name: str, nights: int = 2) -> Object:
    """A Reservation in v1."""
    spec = {"guest": "Ada Lovelace", "nights": nights}
    return {"apiVersion": V1.api_version, "kind": V1.kind, "metadata": {"name": name}, "spec": spec}


async def book(client: Client, namespace: str, name: str) -> None:
    """One request each of the mutating and the validating webhook, and several of the conversion webhook."""
    created = await client.create(V1, reservation(name), namespace)
    assert created["spec"]["room"] == "standard"
    await assert_converted(client, namespace, name)


async def assert_converted(client: Client, namespace: str, name: str) -> None:
    """The Reservation can be read in both versions."""
    converted = await client.get(V2, name, namespace)
    assert converted["spec"]["guest"] == {"givenName": "Ada", "familyName": "Lovelace"}
    assert (await client.get(V1, name, namespace))["spec"]["guest"] == "Ada Lovelace"


async def assert_refused(client: Client, namespace: str, nights: int, maximum_nights: int) -> None:
    """The validating webhook denies a stay of so many nights."""
    with pytest.raises(ApiError) as raised:
        await client.create(V1, reservation("refused", nights), namespace)
    assert isinstance(raised.value, Invalid)
    reason = f"spec.nights is {nights}: it must be from 1 to {maximum_nights}"
    assert raised.value.message == f'admission webhook "validate.{GROUP}" denied the request: {reason}'


async def stored_versions(client: Client) -> list[str]:
    """The versions in which Reservations may be stored."""
    found: list[str] = (await client.get(DEFINITIONS, CRD))["status"]["storedVersions"]
    return found
