"""Operators that share a namespace, or install the same package, do not affect each other."""

from devcluster.watch import is_true
from tests.conditions import triple
from tests.e2e.packages import group, package_blobs, publish, push_bundle, registry_bundle
from tests.e2e.stage import Stage

NAMESPACE = "shared-by-two-system"


def _publish_two(stage: Stage) -> tuple[str, str]:
    prefix = stage.name[:20].strip("-")
    first, second = f"{prefix}-a", f"{prefix}-b"
    blobs = []
    for package in (first, second):
        image = push_bundle(stage, package, registry_bundle(package, namespace=NAMESPACE))
        blobs.append(package_blobs(package, {"1.0.0": image}))
    publish(stage, *blobs)
    return first, second


def test_one_of_two_operators_in_a_namespace_is_deleted(stage: Stage) -> None:
    first, second = _publish_two(stage)
    for package in (first, second):
        stage.operator(package, package)
    for package in (first, second):
        stage.ready_operator(package, "1.0.0")
    stage.delete("Operator", first)
    assert not stage.exists("crd", f"things.{group(first)}")
    assert not stage.exists("deployment", first, "-n", NAMESPACE)
    assert stage.exists("namespace", NAMESPACE)
    assert stage.exists("deployment", second, "-n", NAMESPACE)
    assert stage.exists("crd", f"things.{group(second)}")
    stage.ready_operator(second, "1.0.0")
    stage.delete("Operator", second)
    assert not stage.exists("namespace", NAMESPACE)


def test_an_existing_namespace_is_kept_with_its_other_objects(stage: Stage) -> None:
    first, _ = _publish_two(stage)
    stage.cluster.kubectl("create", "namespace", NAMESPACE)
    try:
        stage.cluster.kubectl("create", "configmap", "of-somebody", "-n", NAMESPACE)
        stage.operator(first, first)
        stage.ready_operator(first, "1.0.0")
        stage.delete("Operator", first)
        assert not stage.exists("deployment", first, "-n", NAMESPACE)
        assert stage.exists("configmap", "of-somebody", "-n", NAMESPACE)
    finally:
        stage.cluster.kubectl("delete", "namespace", NAMESPACE, "--timeout=60s")


def test_the_second_operator_for_a_package_is_refused_and_names_the_first(stage: Stage) -> None:
    first, _ = _publish_two(stage)
    stage.operator(first, "one-for-it")
    stage.ready_operator("one-for-it", "1.0.0")
    stage.operator(first, "another-for-it")
    found = stage.operator_when("another-for-it", "not Ready", lambda o: triple(o, "Resolved")[0] == "False")
    assert triple(found, "Resolved")[1] == "ResolutionFailed"
    assert "one-for-it" in triple(found, "Resolved")[2]
    assert is_true(stage.ready_operator("one-for-it", "1.0.0"), "Installed")
    stage.delete("Operator", "one-for-it")
    stage.ready_operator("another-for-it", "1.0.0")
