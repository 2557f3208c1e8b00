"""Objects that Argo CD has delivered are handed over to Flux: nothing is installed again."""

from __future__ import annotations

import pytest

from tests.gitops.argocd_delivery import WAVES, ArgoCdDelivery
from tests.gitops.flux_delivery import FluxDelivery

pytestmark = pytest.mark.timeout(600)


def test_from_argo_cd_to_flux(delivery: ArgoCdDelivery, flux_delivery: FluxDelivery) -> None:
    stage = delivery.stage
    delivery.publish()
    delivery.deliver(delivery.objects(WAVES, version="1.0.0"))
    delivery.until_synced_and_healthy()
    before = {package: delivery.identity(package) for package in delivery.packages}
    delivery.argocd.cli("app", "delete", delivery.name, "--cascade=false", "--yes")
    delivery.until_deleted()

    flux_delivery.create_kustomizations()
    flux_delivery.until_ready(flux_delivery.push({"version": "1.0.0"}))
    assert {package: delivery.identity(package) for package in delivery.packages} == before
    assert all(delivery.thing_exists(package) for package in delivery.packages)

    flux_delivery.until_ready(flux_delivery.push({}))
    found = stage.get("Operator", delivery.other)
    assert found["spec"]["version"] == "1.0.0", "Argo CD is still an owner of the field"
    stage.patch_operator(delivery.other, {"version": None})
    stage.ready_operator(delivery.other, "1.0.0")
    flux_delivery.until_ready(flux_delivery.push({"channel": "stable"}))
    assert stage.get("Operator", delivery.other)["spec"].keys() == {"packageName", "channel"}

    flux_delivery.delete(flux_delivery.things)
    flux_delivery.delete(flux_delivery.operators)
    delivery.until_nothing_is_left()
