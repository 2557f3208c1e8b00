"""What a client of the operator reservations does: of a process in tests/cluster, and of a pod in tests/node."""

from __future__ import annotations

from typing import Any

from olmkit.api.meta import Kind
from olmkit.errors import Invalid
from olmkit.runtime.client import Client

GROUP = "reservations.example.com"
CRD = f"reservations.{GROUP}"
V1, V2 = (Kind(GROUP, version, "Reservation", "reservations", namespaced=True) for version in ("v1", "v2"))
DEFINITIONS = Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions")

TOO_MANY_NIGHTS = 100
"""More than any version of the operator accepts."""

Object = dict[str, Any]


def reservation(name: str, nights: int = 2) -> Object:
    """A Reservation in v1."""
    spec = {"guest": "Ada Lovelace", "nights": nights}
    return {"apiVersion": V1.api_version, "kind": V1.kind, "metadata": {"name": name}, "spec": spec}


async def book(client: Client, namespace: str, name: str) -> None:
    """Whatever the operator serves answers as it should: it refuses one Reservation, and mutates and converts another one."""
    assert await refuses(client, namespace)
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
    reason = f"spec.nights is {nights}: it must be from 1 to {maximum_nights}"
    assert await _refusal(client, namespace, nights) == reason


async def refuses(client: Client, namespace: str) -> bool:
    """Whether the validating webhook denies a stay of too many nights, which is created otherwise, as "refused"."""
    return await _refusal(client, namespace, TOO_MANY_NIGHTS) != ""


async def _refusal(client: Client, namespace: str, nights: int) -> str:
    """Why the validating webhook denies a stay of so many nights; empty: it is accepted. Raises ApiError if nobody answers."""
    try:
        await client.create(V1, reservation("refused", nights), namespace)
    except Invalid as error:
        return error.message.removeprefix(f'admission webhook "validate.{GROUP}" denied the request: ')
    return ""


async def stored_versions(client: Client) -> list[str]:
    """The versions in which Reservations may be stored."""
    found: list[str] = (await client.get(DEFINITIONS, CRD))["status"]["storedVersions"]
    return found
