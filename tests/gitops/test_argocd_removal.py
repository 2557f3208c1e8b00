"""What is removed from git, and all of an Application that is deleted, is deleted in the right order until nothing is left."""

import json

import pytest

from olmkit.api.operators import DELETION_PROTECTION_ANNOTATION, PROTECTED
from tests.e2e.packages import group
from tests.gitops.argocd_delivery import BACKGROUND, FOREGROUND, LAST_FIRST, NO_WAVES, WAVES, ArgoCdDelivery, Layout
from tests.gitops.removal import Removal

pytestmark = pytest.mark.timeout(900)

LAYOUTS = {"waves": WAVES, "no waves": NO_WAVES, "no waves, Catalog last": LAST_FIRST}


@pytest.mark.parametrize("layout", [WAVES, NO_WAVES], ids=["waves", "no waves"])
def test_pruning(delivery: ArgoCdDelivery, layout: Layout) -> None:
    delivery.publish()
    delivery.deliver(delivery.objects(layout), layout)
    delivery.until_synced_and_healthy()
    with Removal(delivery) as removal:
        delivery.push({"README.md": []})
        removal.until_gone()
        assert_order(delivery, removal, layout)
    delivery.until_synced_and_healthy()
    delivery.until_nothing_is_left()


@pytest.mark.parametrize("finalizer", [FOREGROUND, BACKGROUND], ids=["foreground", "background"])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_deletion(delivery: ArgoCdDelivery, layout: Layout, finalizer: str) -> None:
    delivery.publish()
    delivery.deliver(delivery.objects(layout), layout, finalizer)
    delivery.until_synced_and_healthy()
    with Removal(delivery) as removal:
        delivery.delete_application()
        removal.until_gone()
        assert_order(delivery, removal, layout)
    delivery.until_deleted()
    delivery.until_nothing_is_left()


def test_a_protected_operator_in_use_is_not_pruned_and_the_sync_says_why(delivery: ArgoCdDelivery) -> None:
    """The custom resource is not in git: a person has created it."""
    delivery.publish()
    in_use = delivery.thing(delivery.other)
    objects = [each for each in delivery.objects(NO_WAVES) if not each["apiVersion"].startswith(group(delivery.other))]
    (operator,) = [each for each in objects if each["metadata"]["name"] == delivery.other]
    operator["metadata"]["annotations"][DELETION_PROTECTION_ANNOTATION] = PROTECTED
    delivery.deliver(objects, NO_WAVES)
    delivery.until_synced_and_healthy()
    delivery.stage.cluster.kubectl("apply", "-f", "-", input=json.dumps(in_use))
    before = delivery.identity(delivery.other)
    delivery.push({f"{number}.yaml": [each] for number, each in enumerate(objects) if each is not operator})
    text = f"Operator {delivery.other} is protected: its deletion would delete 1 things.{group(delivery.other)}"
    delivery.until("the sync says why", lambda found: text in json.dumps(found["status"].get("operationState")))
    assert delivery.identity(delivery.other) == before
    assert "deletionTimestamp" not in delivery.stage.get("Operator", delivery.other)["metadata"]
    delivery.stage.cluster.kubectl("delete", "-f", "-", input=json.dumps(in_use))
    delivery.sync()
    delivery.until_synced_and_healthy()
    assert not delivery.stage.exists("operators.operators.operatorframework.io", delivery.other)


def assert_order(delivery: ArgoCdDelivery, removal: Removal, layout: Layout) -> None:
    """What requires is gone before what is required; with waves, each wave is gone before the next one is asked to go."""
    gone = {name: max(removal.gone(f"Operator {name}")) for name in (delivery.dependant, delivery.dependency)}
    assert gone[delivery.dependant] < gone[delivery.dependency]
    for package in removal.packages:
        operator = min(removal.gone(f"Operator {package}"))
        assert max(removal.gone(f"BundleDeployment {package}")) < operator
    if layout.waves:
        managed = [f"Operator {delivery.dependant}", f"Operator {delivery.other}"]
        assert max(removal.gone("Thing")) < min(removal.asked(*managed))
        assert max(removal.gone(*managed)) < min(removal.asked("Catalog"))
