"""One commit with a Catalog, Operators and their custom resources is synced to Healthy, in any order; then it stays Synced."""

import pytest

from olmkit.api.operators import INSTALLED_FOR_LABEL
from tests.gitops.argocd_delivery import LAST_FIRST, NO_WAVES, SERVER_SIDE, WAVES, ArgoCdDelivery, Layout

pytestmark = pytest.mark.timeout(600)

ORDERS = {
    "waves": WAVES,
    "Catalog and Operators in one wave": Layout(waves={"Thing": 1}),
    "by name, Catalog first": NO_WAVES,
    "by name, Catalog last": LAST_FIRST,
    "server-side": SERVER_SIDE,
}


@pytest.mark.parametrize("layout", ORDERS.values(), ids=ORDERS.keys())
def test_one_commit(delivery: ArgoCdDelivery, layout: Layout, capsys: pytest.CaptureFixture[str]) -> None:
    delivery.publish()
    delivery.deliver(delivery.objects(layout), layout)
    seconds = delivery.until_synced_and_healthy()
    with capsys.disabled():
        print(f"\nfrom git push to Healthy: {seconds:.1f} s ({delivery.name})")
    assert "Degraded" not in {health.status for health in delivery.healths}, delivery.healths
    for name in (delivery.dependant, delivery.other):
        delivery.stage.ready_operator(name, "1.0.0")
    dependency = delivery.stage.ready_operator(delivery.dependency, "1.0.0")
    assert dependency["metadata"]["labels"] == {INSTALLED_FOR_LABEL: ""}
    delivery.refresh()
    application = delivery.until("still Synced", lambda found: found["status"]["sync"]["status"])
    assert application["status"]["sync"]["status"] == "Synced", application["status"].get("conditions")
    assert delivery.dependency not in {
        resource["name"] for resource in application["status"]["resources"] if resource["kind"] == "Operator"
    }
    assert delivery.stage.get("Operator", delivery.dependency)["metadata"]["uid"] == dependency["metadata"]["uid"]
