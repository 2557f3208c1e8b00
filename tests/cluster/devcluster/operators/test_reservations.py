"""reservations as a process: it refuses, sets defaults and converts, with each certificate that its directory gets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from devcluster.cluster import Cluster
from devcluster.operators.manifests import NEW, OLD, bundles
from olmkit.runtime.client import Client
from olmkit.tls.certificate_authority import CertificateSet
from tests.cluster.devcluster.operators.harness import (
    Apply,
    OperatorProcess,
    applied,
    certificates,
    deployment_of,
    namespace_object,
    rotate_and_upgrade,
)
from tests.load import load
from tests.reservations import CRD, V1, assert_converted, assert_refused, book, refuses, reservation, stored_versions

NAMESPACE = "reservations-process"
CERTIFICATE = ("tls.crt", "tls.key")
BUNDLES = {each.version: each for each in bundles() if each.package == "reservations"}

Object = dict[str, Any]


@contextmanager
def installed(cluster: Cluster, process: OperatorProcess, *trusted: CertificateSet) -> Iterator[Apply]:
    """The process with the first certificate, and the objects of its bundle; the function applies those of others."""
    with applied(cluster, [namespace_object(NAMESPACE)]) as apply:
        apply([each for each in process.rendered() if each["kind"] == "ServiceAccount"])
        process.write_certificate(trusted[0], *CERTIFICATE)
        process.run(deployment_of(process.rendered()))
        apply(process.objects(*trusted))
        cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", f"crd/{CRD}")
        yield apply
        # While there is an operator to convert them.
        cluster.kubectl("delete", "crd", CRD, "--timeout=60s")


async def ready(client: Client) -> None:
    """Return when the API server calls the webhooks, which it gets to know a moment after they were applied."""
    while (await client.create(V1, reservation("first"), NAMESPACE))["spec"].get("room") is None:
        await client.delete(V1, "first", NAMESPACE)
    while not await refuses(client, NAMESPACE):  # it gets to know each of them by itself
        await client.delete(V1, "refused", NAMESPACE)


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
            await assert_refused(client, NAMESPACE, nights=31, maximum_nights=30)
            async with load(lambda number: book(client, NAMESPACE, f"guest-{number}")) as requests:
                await rotate_and_upgrade(requests, old, new, second, CERTIFICATE, apply)
            assert requests.failures == []
            await assert_converted(client, NAMESPACE, "guest-0")
            assert await stored_versions(client) == ["v1", "v2"]
            await assert_refused(client, NAMESPACE, nights=61, maximum_nights=60)
