"""Catalogs that cannot be pulled or read: each reports why in its status, and no other one is affected."""

import json
import re
import socket
import tarfile
from collections.abc import Sequence
from contextlib import ExitStack

import pytest

from devcluster.demo.full_catalog import catalog_object
from devcluster.images import Registry
from devcluster.watch import CATALOGS, PACKAGES, Object, condition, is_true
from olmctl.authoring.images.labels import CONFIGS_LABEL
from olmkit.api.provisioner_classes import PLAIN
from tests.bench.api_requests import metrics
from tests.conditions import triple
from tests.e2e.faulty_registry import ABSENT_HOST, HOST
from tests.e2e.hostile import OUT_OF_THE_IMAGE, archive
from tests.e2e.packages import catalog_file, package_blobs, publish, push_bundle, registry_bundle
from tests.e2e.stage import Stage, is_observed

_FETCHING = re.compile(
    r'^(olmkit_jobs_(?:running|queued)\{function="(?:load|unpack)"\} \S+|olmkit_jobs_finished_total\{function="(?:load|unpack)",'
    r'outcome="(?!Succeeded).*"\} \S+)$',
    re.MULTILINE,
)
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


def test_a_failure_that_happens_again_is_counted_in_its_event(stage: Stage) -> None:
    """By each controller with the permissions of its own account."""
    missing = f"{stage.cluster.registry}/catalogs/was-never-pushed:latest"
    stage.repository().push_files(catalog_file(package_blobs("counted-operator", {"1.0.0": NEVER_PULLED})))
    served = stage.repository().reference
    stage.ready_catalog(served)
    name = stage.operator("counted-operator", version="9.9.9")
    for version, count in (("9.9.9", 1), (">9", 1), ("9.9.9", 2)):
        stage.patch_operator(name, {"version": version})
        _event_counted(stage, "Operator", version, count)
    for reference, count in ((missing, 1), (served, 1), (missing, 2)):
        stage.patch_catalog(stage.name, {"source": {"type": "image", "image": {"ref": reference}}})
        if reference == missing:
            _event_counted(stage, "Catalog", missing, count)
        else:
            stage.catalog_when(stage.name, "Ready", lambda o: is_true(o, "Ready") and is_observed(o))


def _event_counted(stage: Stage, kind: str, text: str, count: int) -> None:
    """Wait for the Warning about the object of the test, with the text in its message, that has happened so often. While the
    content of a catalog is not read yet, an Event of another type has the same text."""
    stage.until(
        "/api/v1/namespaces/default/events",
        f"{text} of the {kind} is counted as {count}",
        lambda objects: any(
            (each["type"], each["involvedObject"]["name"], each["involvedObject"]["kind"], each.get("count"))
            == ("Warning", stage.name, kind, count)
            and text in each["message"]
            for each in objects.values()
        ),
    )


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


def test_registries_that_never_answer_keep_nobody_waiting(stage: Stage) -> None:
    names, before = [f"{stage.name[:30]}-{number}" for number in range(10)], _unfinished_and_failed(stage)
    with ExitStack() as stack:
        # The kernel accepts the connections.
        silent = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in names]
        images = [f"127.0.0.1:{each.getsockname()[1]}/none:latest" for each in silent]
        catalogs = [catalog_object(name, image, "1h") for name, image in zip(names, images, strict=True)]
        deployments = [_bundle_deployment(name, image) for name, image in zip(names, images, strict=True)]
        for name in names:
            stage.also_delete("Catalog", name)
        stage.cluster.kubectl("apply", "-f", "-", input=json.dumps(_list([*catalogs, *deployments])))
        try:
            package = f"{stage.name[:30]}-fine"
            image = push_bundle(stage, package, registry_bundle(package))
            publish(stage, package_blobs(package, {"1.0.0": image}))
            stage.operator(package, package)
            stage.ready_operator(package, "1.0.0")
            assert _unfinished_and_failed(stage) == before, "jobs of registries that never answer have had no memory"
        finally:
            stage.cluster.kubectl("delete", "bundledeployments.core.rukpak.io", *names, "--wait=false")


def _unfinished_and_failed(stage: Stage) -> list[str]:
    """How many jobs that fetch run, wait for memory and have failed, in both controllers."""
    texts = [metrics(stage.suite, name) for name in ("catalogd", "rukpak")]
    return sorted(line for text in texts for line in _FETCHING.findall(text) if not line.endswith(" 0.0"))


def _bundle_deployment(name: str, image: str) -> Object:
    template = {"provisionerClassName": PLAIN, "source": {"type": "image", "image": {"ref": image}}}
    spec = {"provisionerClassName": PLAIN, "template": {"spec": template}}
    return {
        "apiVersion": "core.rukpak.io/v1alpha1",
        "kind": "BundleDeployment",
        "metadata": {"name": name},
        "spec": spec,
    }


def _list(items: Sequence[Object]) -> Object:
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}


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
