"""Catalogs that cannot be pulled or read: each reports why in its status, and no other one is affected."""

import tarfile

import pytest

from devcluster.images import CONFIGS_LABEL, Registry
from devcluster.watch import CATALOGS, PACKAGES, Object, condition, is_true
from tests.conditions import triple
from tests.e2e.faulty_registry import ABSENT_HOST, HOST
from tests.e2e.hostile import OUT_OF_THE_IMAGE, archive
from tests.e2e.packages import catalog_file, package_blobs, publish
from tests.e2e.stage import Stage

NEVER_PULLED = "registry.example.com/bundles/never-pulled:v1"


def _refused(stage: Stage, reference: str, *, stalled: bool) -> str:
    """Wait until a Catalog of that image has failed; returns the message."""
    stage.catalog(reference, poll_interval="1h")
    expected = "Stalled" if stalled else "Reconciling"
    found = stage.catalog_when(
        stage.name, f"UnpackFailed and {expected}", lambda o: triple(o, "Unpacked")[1] == "UnpackFailed", 90
    )
    assert triple(found, "Unpacked")[0] == "False"
    assert triple(found, "Serving")[0] == "False"
    assert triple(found, "Ready")[0] == "False"
    assert condition(found, expected)["status"] == "True", found["status"]
    assert found["status"]["phase"] == "Failing"
    assert "contentURL" not in found["status"]
    return triple(found, "Unpacked")[2]


def test_a_missing_image(stage: Stage) -> None:
    reference = f"{stage.cluster.registry}/catalogs/was-never-pushed:latest"
    message = _refused(stage, reference, stalled=False)
    assert "not found" in message
    assert reference in message


def test_an_image_that_is_pushed_later_is_found(stage: Stage) -> None:
    reference = stage.repository().reference
    stage.catalog(reference)
    stage.catalog_when(stage.name, "failing", lambda o: triple(o, "Unpacked")[1] == "UnpackFailed")
    stage.repository().push_files(catalog_file(package_blobs("late-operator", {"1.0.0": NEVER_PULLED})))
    stage.catalog_when(stage.name, "Ready", lambda o: is_true(o, "Ready"), 90)


@pytest.mark.parametrize("pinned", [True, False], ids=["by digest", "by tag"])
def test_an_image_without_the_label(stage: Stage, pinned: bool) -> None:
    registry = stage.cluster.registry
    digest = Registry(registry).push("catalogs/no-label", "latest", {"configs/catalog.json": b"{}"}, {})
    reference = f"{registry}/catalogs/no-label" + (f"@{digest}" if pinned else ":latest")
    message = _refused(stage, reference, stalled=pinned)
    assert f'is missing the required label "{CONFIGS_LABEL}"' in message


@pytest.mark.parametrize(
    ("entry", "words"), [pytest.param(entry, words, id=what) for what, entry, words in OUT_OF_THE_IMAGE]
)
def test_a_layer_with_a_path_outside_the_image(stage: Stage, entry: tarfile.TarInfo, words: str) -> None:
    registry = Registry(stage.cluster.registry)
    repository = f"catalogs/{stage.name}"
    digest = registry.push_layers(repository, "latest", [archive(entry)], {CONFIGS_LABEL: "/configs"})
    message = _refused(stage, f"{registry.address}/{repository}@{digest}", stalled=True)
    assert words in message
    assert "layer 1 of image" in message


@pytest.mark.parametrize(
    ("file", "content"),
    [
        pytest.param("a/catalog.yaml", b"schema: olm.package\nname: [", id="YAML that does not parse"),
        pytest.param("a/catalog.json", b'{"schema": "olm.package", "name": ', id="JSON that does not parse"),
        pytest.param("a/catalog.json", b'["schema"]', id="JSON that is not an object"),
        pytest.param("a/catalog.yaml", b"name: no-schema\n", id="a document without schema"),
    ],
)
def test_the_file_that_cannot_be_parsed_is_named(stage: Stage, file: str, content: bytes) -> None:
    good = catalog_file(package_blobs("good-operator", {"1.0.0": NEVER_PULLED}))
    digest = stage.repository().push_files({**good, file: content})
    reference = f"{stage.repository().reference.rpartition(':')[0]}@{digest}"
    assert file in _refused(stage, reference, stalled=True)


def test_old_content_is_served_while_new_content_cannot_be_parsed(stage: Stage) -> None:
    publish(stage, package_blobs("kept-operator", {"1.0.0": NEVER_PULLED}))
    served = stage.watch(CATALOGS).objects[stage.name]["status"]["resolvedSource"]
    stage.repository().push_files({"catalog.yaml": b"schema: ["})
    found = stage.catalog_when(stage.name, "says it", lambda o: triple(o, "Unpacked")[1] == "UnpackFailed")
    assert triple(found, "Serving")[0] == "True"
    assert triple(found, "Ready")[:2] == ("True", "ServingOldContent")
    assert is_true(found, "Reconciling")
    assert found["status"]["resolvedSource"] == served
    assert f"{stage.name}-kept-operator" in stage.cluster.kubectl("get", "packages", "-o", "name")


def test_a_catalog_without_files(stage: Stage) -> None:
    registry = Registry(stage.cluster.registry)
    repository = f"catalogs/{stage.name}"
    digest = registry.push_layers(repository, "latest", [archive()], {CONFIGS_LABEL: "/configs"})
    message = _refused(stage, f"{registry.address}/{repository}@{digest}", stalled=True)
    assert "configs" in message


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        pytest.param(f"{HOST}/answers-500/catalog:latest", "answered 500", id="a registry that answers 500"),
        pytest.param(f"{HOST}/answers-401/catalog:latest", "401", id="a registry that answers 401"),
        pytest.param(f"{ABSENT_HOST}/catalog:latest", "does not answer", id="a registry that does not listen"),
    ],
)
def test_a_registry_that_fails_is_retried(stage: Stage, reference: str, words: str) -> None:
    assert words in _refused(stage, reference, stalled=False)


def test_a_catalog_is_deleted_while_its_registry_does_not_answer(stage: Stage) -> None:
    name = stage.catalog(f"{HOST}/never-answers/catalog:latest")
    stage.catalog_when(name, "being unpacked", lambda o: triple(o, "Unpacked")[1] == "Unpacking")
    stage.delete("Catalog", name)


def test_an_invalid_package_name_gets_another_object_name(stage: Stage) -> None:
    odd = "Not_A.Label"
    publish(stage, package_blobs(odd, {"1.0.0": NEVER_PULLED}))

    def named(objects: dict[str, Object]) -> list[Object]:
        return [o for o in objects.values() if o["spec"]["packageName"] == odd]

    (package,) = stage.until(PACKAGES, "its Package", lambda objects: named(dict(objects)))
    assert package["spec"]["catalog"]["name"] == stage.name
    assert package["metadata"]["name"].startswith(f"{stage.name}-not-a")


def test_a_bad_catalog_does_not_affect_others(stage: Stage) -> None:
    stage.catalog(f"{HOST}/answers-500/catalog:latest", f"{stage.name[:30]}-bad")
    publish(stage, package_blobs("fine-operator", {"1.0.0": NEVER_PULLED}))
