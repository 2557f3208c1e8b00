"""What to do about a bundle that cannot be loaded: each fault with its file, line and field, as far as they are known."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from olmctl.validation.checks import Options, validated
from olmctl.validation.file_tree import FileTree
from olmctl.validation.finding import Finding
from olmctl.validation.load_faults import dotted, wanted
from tests.bundle_files import ANNOTATIONS, CRD, CSV, LABEL, changed, files

DIRECTORIES = frozenset({"manifests", "metadata"})
ANNOTATIONS_FILE = "metadata/annotations.yaml"
CSV_FILE = "manifests/csv.yaml"
CSV_YAML = b"""\
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: lamp-operator.v1.2.3
spec:
  version: 1.2
  installModes:
  - type: AllNamespaces
    supported: "yes"
"""


def fault(
    contents: Mapping[str, bytes],
    directories: frozenset[str] = DIRECTORIES,
    unreadable: Mapping[str, str] | None = None,
) -> Finding:
    """The finding of the load."""
    tree = FileTree(contents, directories, unreadable or {})
    (found,) = (each for each in validated(tree, "b", Options(upstream=True)).findings if each.rule == "load")
    return found


def without(path: str) -> dict[str, bytes]:
    return {name: data for name, data in files().items() if name != path}


@pytest.mark.parametrize(
    ("contents", "place", "hint"),
    [
        pytest.param(without(ANNOTATIONS_FILE), ("", 0, ""), "Add metadata/annotations.yaml", id="no annotations"),
        pytest.param(
            {**files(), ANNOTATIONS_FILE: b"# a\nannotations:\n"},
            (ANNOTATIONS_FILE, 2, "annotations"),
            "Write the mapping `annotations` with the package and the channels",
            id="empty annotations",
        ),
        pytest.param(
            {**files(), ANNOTATIONS_FILE: b"# a\nannotations:\n- b\n"},
            (ANNOTATIONS_FILE, 2, "annotations"),
            "Write annotations as a mapping.",
            id="annotations as a list",
        ),
        pytest.param(
            {**files(), ANNOTATIONS_FILE: b"# a\nb: [\n"}, (ANNOTATIONS_FILE, 3, ""), "Correct the YAML", id="no YAML"
        ),
        pytest.param(
            files(annotations=changed(ANNOTATIONS, **{LABEL.format("manifests"): "../x"})),
            (ANNOTATIONS_FILE, 0, f"annotations.{LABEL.format('manifests')}"),
            "Write manifests/, and put the manifests there.",
            id="a directory outside",
        ),
        pytest.param(
            files(annotations=changed(ANNOTATIONS, **{LABEL.format("manifests"): "none/"})),
            ("none", 0, ""),
            "Put the manifests there, or correct the annotation that names the directory",
            id="a directory without files",
        ),
        pytest.param(files(csv=None), ("manifests", 0, ""), "Add a file with the ClusterServiceVersion:", id="no CSV"),
        pytest.param(
            {**files(csv=None), CSV_FILE: b"kind: ["},
            ("manifests", 0, ""),
            "Correct the files there that cannot be read",
            id="a CSV that is no YAML",
        ),
        pytest.param(files(z=CSV), ("manifests/z.yaml", 1, ""), "Keep one ClusterServiceVersion", id="two CSVs"),
        pytest.param(
            {**files(csv=None), CSV_FILE: CSV_YAML.replace(b"version: 1.2", b"version: 1.2.0")},
            (CSV_FILE, 9, "spec.installModes[0].supported"),
            "Write spec.installModes[0].supported as true or false.",
            id="text for a boolean",
        ),
        pytest.param(
            {**files(csv=None), CSV_FILE: CSV_YAML.replace(b'"yes"', b"true")},
            (CSV_FILE, 6, "spec.version"),
            'Write spec.version as a semantic version in quotes, such as "1.2.3".',
            id="a number for a version",
        ),
        pytest.param(
            files(csv=changed(CSV, spec__installModes={"AllNamespaces": True})),
            (CSV_FILE, 1, "spec.installModes"),
            "Write spec.installModes as a list.",
            id="a mapping for a list",
        ),
        pytest.param(
            files(crd={**CRD, "spec": []}),
            ("manifests/crd.yaml", 1, "spec"),
            "Write spec as a mapping.",
            id="a list for a mapping",
        ),
        pytest.param(
            files(crd=changed(CRD, apiVersion="apiextensions.k8s.io/v2")),
            ("manifests/crd.yaml", 1, "apiVersion"),
            "Write apiextensions.k8s.io/v1.",
            id="a version of CustomResourceDefinitions that does not exist",
        ),
        pytest.param(
            {**files(), "manifests/README.md": b"# Lamp\ntext"},
            ("manifests/README.md", 2, ""),
            "Move the file out of the directory: each file in it must be an object",
            id="a text",
        ),
        pytest.param(
            {**files(), "manifests/a.yaml": b"a: b"},
            ("manifests/a.yaml", 1, ""),
            "Add apiVersion and kind",
            id="no kind",
        ),
        pytest.param(
            {**files(), "manifests/a.yaml": b""}, ("manifests/a.yaml", 0, ""), "Move the file out", id="an empty file"
        ),
        pytest.param(
            {**files(), "manifests/a.yaml": b"a: b\nc: ["},
            ("manifests/a.yaml", 3, ""),
            "Correct the YAML",
            id="no YAML there",
        ),
        pytest.param(
            {**files(), "manifests/.a.yaml": b"a: b"},
            ("manifests/.a.yaml", 0, ""),
            "Remove the file",
            id="a hidden file",
        ),
        pytest.param(
            {**files(), "manifests/annotations.yaml": b"annotations: 5"},
            ("manifests/annotations.yaml", 0, ""),
            "Correct the file, or move it into metadata/.",
            id="annotations among the manifests",
        ),
    ],
)
def test_what_to_do_about_a_fault(contents: Mapping[str, bytes], place: tuple[str, int, str], hint: str) -> None:
    found = fault(contents)
    assert (found.file, found.line, found.field) == place
    assert found.hint.startswith(hint), found.hint
    assert found.hint.endswith(" Nothing else of the bundle was checked.")


def test_a_directory_among_the_manifests() -> None:
    found = fault({**files(), "manifests/more/a.yaml": b"kind: A"}, DIRECTORIES | {"manifests/more"})
    assert (found.file, found.hint.partition(":")[0]) == (
        "manifests/more",
        "Move the files of this directory into the one above it",
    )


def test_a_link_that_leads_outside() -> None:
    found = fault(files(), unreadable={"manifests/a.yaml": "the link leads outside the bundle"})
    assert (found.file, found.hint.partition(":")[0]) == ("manifests/a.yaml", "Replace it by a file")


@pytest.mark.parametrize(
    "directories",
    [pytest.param(frozenset[str](), id="the manifests"), pytest.param(frozenset({"1.0.0"}), id="versions")],
)
def test_a_directory_that_is_no_bundle(directories: frozenset[str]) -> None:
    contents = {
        path.removeprefix("manifests/"): data for path, data in files().items() if path.startswith("manifests/")
    }
    assert fault(contents, directories).hint.startswith("Give the directory of one version of one bundle")


@pytest.mark.parametrize(
    ("type_name", "text"),
    [
        pytest.param("*string", "text", id="text"),
        pytest.param("[]string", "a list", id="a list"),
        pytest.param("map[string]string", "a mapping", id="a map"),
        pytest.param("JSONSchemaProps", "a mapping", id="a struct"),
        pytest.param("SchemaOrBool", "a schema", id="a type with several forms"),
        pytest.param("[]uint8", "text in base64", id="bytes"),
    ],
)
def test_what_a_person_writes_for_a_type(type_name: str, text: str) -> None:
    assert wanted(type_name) == text


def test_a_path_as_messages_show_it() -> None:
    assert dotted(("spec", "installModes", 0, "type")) == "spec.installModes[0].type"


@pytest.mark.parametrize("without", ["", ANNOTATIONS_FILE], ids=["a whole bundle", "a bundle without annotations"])
def test_the_bundle_below_the_directory_is_named(without: str) -> None:
    contents = {f"bundle/{path}": data for path, data in files().items() if path != without}
    directories = frozenset({"bundle", "bundle/manifests", "bundle/metadata", "config", "config/manifests"})
    assert fault(contents, directories).hint.startswith(
        "Give the directory of a bundle, such as b/bundle: b itself is none."
    )
