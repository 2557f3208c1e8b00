"""Flux's kustomize-controller delivers a Catalog, Operators and their custom resources out of git.

As Flux checks all objects of a Kustomization before it applies one, custom resources are in a Kustomization of their own, which
depends on that of the Operators (config/samples/gitops/flux-kustomizations.yaml).
"""

from __future__ import annotations

import time

import pytest

from devcluster.cluster import Cluster
from devcluster.processes import REPOSITORY
from devcluster.watch import OPERATORS, condition, is_true
from olmkit.api.operators import INSTALLED_FOR_LABEL
from tests.gitops.flux_delivery import FluxDelivery

SAMPLE = REPOSITORY / "config" / "samples" / "gitops" / "flux-kustomizations.yaml"


def test_flux_delivers_upgrades_and_prunes(flux_delivery: FluxDelivery) -> None:
    delivery, stage = flux_delivery, flux_delivery.stage
    delivery.publish()
    delivery.create_kustomizations()
    started = time.monotonic()
    revision = delivery.push({})
    delivery.until_ready(revision)
    print(f"from the commit to Ready: {time.monotonic() - started:.1f} s")
    for package in delivery.packages:
        stage.ready_operator(package, "1.0.0")
        assert delivery.thing_exists(package)
    dependency = stage.get("Operator", delivery.dependency)
    assert dependency["metadata"]["labels"] == {INSTALLED_FOR_LABEL: ""}, "labels of Flux are not copied"
    assert "labels" not in stage.get("bundledeployment", delivery.dependant)["metadata"]

    refused = delivery.push({"version": "7.0.0"})
    message = delivery.until_failed(refused)
    assert f"failed early due to stalled resources: [Operator/{delivery.other} status: 'Failed']" in message
    operator = stage.operator_when(delivery.other, "is Stalled", lambda found: is_true(found, "Stalled"))
    assert "7.0.0" in condition(operator, "Ready")["message"]

    delivery.until_ready(delivery.push({"version": "1.0.0"}))
    delivery.until_ready(delivery.push(None))
    stage.until(OPERATORS, f"{delivery.other} is pruned", lambda objects: delivery.other not in objects)
    assert not delivery.crd_exists(delivery.other)
    after = stage.get("Operator", delivery.dependency)
    assert after["metadata"]["uid"] == dependency["metadata"]["uid"], "a dependency is not pruned"
    assert delivery.thing_exists(delivery.dependant)

    delivery.delete(delivery.things)
    delivery.delete(delivery.operators)
    delivery.until_nothing_is_left()


@pytest.mark.usefixtures("flux")
def test_flux_accepts_the_sample(cluster: Cluster) -> None:
    printed = cluster.kubectl("create", "--dry-run=server", "--validate=strict", f"--filename={SAMPLE}")
    assert printed.count("created (server dry run)") == 2
