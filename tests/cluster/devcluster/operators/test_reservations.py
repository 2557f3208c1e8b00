"""reservations as a process: it refuses, sets defaults and converts, with each certificate that its folder gets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from devcluster.cluster import Cluster
from devcluster.operators.manifests import NEW, OLD, bundles
from olmkit.api.meta import Kind
from olmkit.errors import ApiError
from olmkit.runtime.client import Client
from olmkit.tls.certificate_authority import CertificateSet
from tests.cluster.devcluster.operators.harness import (
    OperatorProcess,
    applied,
    certificates,
    deployment_of,
    namespace_object,
)
from tests.load import load

GROUP = "reservations.example.com"
V1, V2 = (Kind(GROUP, version, "Reservation", "reservations", namespaced=True) for version in ("v1", "v2"))
CRD = Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions")
NAMESPACE = "reservations-process"
CERTIFICATE = ("tls.crt", "tls.key")
BUNDLES = {each.version: each for each in bundles() if each.package == "reservations"}

Object = dict[str, Any]
Apply = Callable[[list[Object]], None]
REQUESTS = 40
"""So many requests are made before and after each change."""


@contextmanager
def installed(cluster: Cluster, process: OperatorProcess, *trusted: CertificateSet) -> Iterator[Apply]:
    """The process with the first certificate, and the objects of its bundle; the function applies those of others."""
    with applied(cluster, [namespace_object(NAMESPACE)]) as apply:
        apply([each for each in process.rendered() if each["kind"] == "ServiceAccount"])
        process.write_certificate(trusted[0], *CERTIFICATE)
        process.run(deployment_of(process.rendered()))
        apply(process.objects(*trusted))
        cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", f"crd/reservations.{GROUP}")
        yield apply
        # While there is an operator to convert them.
        cluster.kubectl("delete", "crd", f"reservations.{GROUP}", "--timeout=60s")


def reservation(name: str, nights: int = 2, guest: str = "Ada Lovelace") -> Object:
    spec = {"guest": guest, "nights": nights}
    return {"apiVersion": V1.api_version, "kind": V1.kind, "metadata": {"name": name}, "spec": spec}


async def refusal(client: Client, nights: int) -> str:
    with pytest.raises(ApiError) as raised:
        await client.create(V1, reservation("refused", nights), NAMESPACE)
    return raised.value.message


async def book(client: Client, number: int) -> None:
    """One request each of the mutating and validating webhook, and several of the conversion webhook."""
    created = await client.create(V1, reservation(f"guest-{number}"), NAMESPACE)
    assert created["spec"]["room"] == "standard"
    converted = await client.get(V2, f"guest-{number}", NAMESPACE)
    assert converted["spec"]["guest"] == {"givenName": "Ada", "familyName": "Lovelace"}


async def ready(client: Client) -> None:
    """Return when the API server calls the webhooks, which it gets to know a moment after they were applied."""
    while (await client.create(V1, reservation("first"), NAMESPACE))["spec"].get("room") is None:
        await client.delete(V1, "first", NAMESPACE)


async def test_it_refuses_mutates_and_converts_while_its_certificate_is_replaced_and_in_an_upgrade(
    cluster: Cluster, tmp_path: Path
) -> None:
    first, second = (certificates(BUNDLES[OLD], NAMESPACE) for _ in range(2))
    with (
        OperatorProcess(cluster, BUNDLES[OLD], NAMESPACE, tmp_path / OLD) as old,
        OperatorProcess(cluster, BUNDLES[NEW], NAMESPACE, tmp_path / NEW) as new,
        installed(cluster, old, first, second) as apply,
    ):
        async with Client(str(cluster.kubeconfig)) as client:
            await ready(client)
            refused = "denied the request: spec.nights is 31: it must be from 1 to 30"
            assert await refusal(client, 31) == f'admission webhook "validate.{GROUP}" {refused}'
            async with load(lambda number: book(client, number)) as requests:
                await requests.after(REQUESTS)
                old.write_certificate(second, *CERTIFICATE)
                old.until("reservations", "serving the second certificate", lambda: old.has_loaded(second))
                await requests.after(REQUESTS)
                # The API server makes its connections again when it trusts another CA.
                apply(old.objects(second))
                await requests.after(REQUESTS)
                new.write_certificate(second, *CERTIFICATE)
                new.run(deployment_of(new.rendered()))
                apply(new.objects(second))
                await requests.after(REQUESTS)
                old.stop()
                await requests.after(REQUESTS)
            assert requests.failures == []
            assert (await client.get(V2, "guest-0", NAMESPACE))["spec"]["guest"]["familyName"] == "Lovelace"
            definition = await client.get(CRD, f"reservations.{GROUP}")
            assert definition["status"]["storedVersions"] == ["v1", "v2"]
            assert (await client.create(V1, reservation("long", 31), NAMESPACE))["spec"]["nights"] == 31
