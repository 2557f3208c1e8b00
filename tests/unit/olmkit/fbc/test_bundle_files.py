"""The files of bundles as values, and the errors of files that are not a bundle."""

from __future__ import annotations

import pytest

from olmkit.fbc.bundle_files import BadBundleFiles, read_objects, read_registry
from tests.unit.olmkit.fbc.bundle_builders import annotations_file, bundle, dump, service_version


def test_a_bundle_is_read_in_the_order_of_its_files() -> None:
    found = read_registry(bundle())
    assert (found.package, [each["kind"] for each in found.objects]) == (
        "p",
        ["CustomResourceDefinition", "ClusterServiceVersion"],
    )
    assert (found.properties, found.dependencies, found.warnings) == ((), (), ())


def test_several_documents_in_a_file_and_hidden_files() -> None:
    config_map = dump({"apiVersion": "v1", "kind": "ConfigMap"})
    files = bundle() | {"manifests/many.yaml": b"---\n".join((config_map, config_map)), "manifests/.x": b"{"}
    assert [each["kind"] for each in read_objects(files)].count("ConfigMap") == 2


def test_keys_that_every_object_has_are_found_in_another_case() -> None:
    files = bundle() | {"manifests/x.yaml": b"ApiVersion: v1\nKind: ConfigMap\nMetadata: {Name: x}\n"}
    assert read_objects(files)[-1] == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}


def test_files_of_metadata_are_recognized_by_their_content() -> None:
    files = bundle(depends=dump({"dependencies": [{"type": "t", "value": 1}]}))
    files["metadata/created-at"] = b"today"
    files["metadata/a.yml"] = files.pop("metadata/annotations.yaml")
    found = read_registry(files)
    assert (found.package, found.dependencies[0].type) == ("p", "t")


def test_metadata_that_cannot_be_read_is_left_out_with_a_warning() -> None:
    found = read_registry(bundle(dependencies=b"a:\n- b: c\n    d: e\n"))
    assert found.dependencies == ()
    assert found.warnings[0].startswith("metadata/dependencies.yaml: line 3, column 6: mapping values")
    assert found.warnings[0].endswith(": the file is left out")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param(
            {"manifests/csv.yaml": None}, 'no ClusterServiceVersion found in "manifests"', id="no ClusterServiceVersion"
        ),
        pytest.param(
            {"manifests/csv2.yaml": dump(service_version())},
            '2 ClusterServiceVersions found in "manifests": a bundle has one',
            id="two of them",
        ),
        pytest.param(
            {"metadata/annotations.yaml": None},
            "Could not find annotations file: metadata/annotations.yaml names the bundle's package",
            id="no annotations",
        ),
        pytest.param(
            {"metadata/annotations.yaml": annotations_file("")},
            'Missing annotation "operators.operatorframework.io.bundle.package.v1" in metadata/annotations.yaml',
            id="no package",
        ),
        pytest.param(
            {"manifests/x.yaml": b"a: b: c\n"},
            "manifests/x.yaml: line 1, column 5: mapping values are not allowed in this context: a: b <==",
            id="no YAML",
        ),
        pytest.param(
            {"manifests/x.yaml": b"- 1\n"},
            "manifests/x.yaml: document 1 is no Kubernetes object: it needs apiVersion and kind",
            id="no object",
        ),
        pytest.param(
            {"manifests/sub/x.yaml": b"{}"},
            'subdirectories are not allowed within the "manifests" directory of the bundle image filesystem:'
            ' found "manifests/sub"',
            id="a directory among the manifests",
        ),
        pytest.param(
            {"metadata/properties.yaml": dump({"properties": [{"type": "t"}]})},
            'metadata/properties.yaml: properties[0]: needs a value in addition to its type "t"',
            id="a property without value",
        ),
        pytest.param(
            {"metadata/dependencies.yaml": dump({"dependencies": [{"value": 1}]})},
            "metadata/dependencies.yaml: dependencies[0]: needs a type, which is a string",
            id="a dependency without type",
        ),
        pytest.param(
            {"metadata/properties.yaml": dump({"properties": {"a": 1}})},
            "metadata/properties.yaml: properties: must be a list of type and value",
            id="properties that are no list",
        ),
    ],
)
def test_what_is_no_bundle(changes: dict[str, bytes | None], words: str) -> None:
    files = {path: text for path, text in {**bundle(), **changes}.items() if text is not None}
    with pytest.raises(BadBundleFiles) as caught:
        read_registry(files)
    assert str(caught.value) == words


def test_a_bundle_without_manifests() -> None:
    with pytest.raises(BadBundleFiles, match="no bundle objects found"):
        read_objects({"manifests/.hidden": b"", "metadata/annotations.yaml": annotations_file()})
