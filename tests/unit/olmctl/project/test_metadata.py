"""annotations.yaml and bundle.Dockerfile."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml

from olmctl.project.metadata import Metadata, annotations_file, dockerfile, foreign_annotations, label_problem

PREFIX = "operators.operatorframework.io."
FACTS = Metadata("p", "alpha", "", "olm-suite-v1", "unknown", has_scorecard=False)
PLAIN = annotations_file(FACTS, "")
PLAIN_DOCKERFILE = dockerfile(FACTS, "bundle", {}, "")


def test_the_annotations_are_in_upstreams_order() -> None:
    facts = replace(FACTS, channels="a,b", default_channel="a", has_scorecard=True)
    assert (
        annotations_file(facts, "")
        == f"""\
annotations:
  # Core bundle annotations.
  {PREFIX}bundle.mediatype.v1: registry+v1
  {PREFIX}bundle.manifests.v1: manifests/
  {PREFIX}bundle.metadata.v1: metadata/
  {PREFIX}bundle.package.v1: p
  {PREFIX}bundle.channels.v1: a,b
  {PREFIX}bundle.channel.default.v1: a
  {PREFIX}metrics.builder: olm-suite-v1
  {PREFIX}metrics.mediatype.v1: metrics+v1
  {PREFIX}metrics.project_layout: unknown

  # Annotations for testing.
  {PREFIX}test.mediatype.v1: scorecard+v1
  {PREFIX}test.config.v1: tests/scorecard/
"""
    )


def test_a_channel_that_reads_as_a_number_is_quoted() -> None:
    assert f'{PREFIX}bundle.channels.v1: "1.0"' in annotations_file(replace(FACTS, channels="1.0"), "")


@pytest.mark.parametrize(
    ("existing", "kept"),
    [
        pytest.param("", "", id="no file"),
        pytest.param(PLAIN, "", id="a file without foreign keys"),
        pytest.param(
            f"{PLAIN}  # Mine.\n  com.example.a: 'b'\n", "  # Mine.\n  com.example.a: 'b'\n", id="a key with a comment"
        ),
        pytest.param(
            "annotations:\n  a: |\n    x\n    y\n  b: c\n", "  a: |\n    x\n    y\n  b: c\n", id="text of several lines"
        ),
        pytest.param("annotations: {a: b, c: 'd: e'}\n", "  a: b\n  c: 'd: e'\n", id="flow style"),
        pytest.param("annotations:\n    a: b\n", "  a: b\n", id="another indentation"),
        pytest.param(f"annotations:\n  a: b\n  {PREFIX}bundle.package.v1: q\n", "  a: b\n", id="a key before ours"),
        pytest.param("other: {a: b}\n", "", id="no annotations"),
    ],
)
def test_foreign_annotations_stay(existing: str, kept: str) -> None:
    found = annotations_file(FACTS, existing)
    assert found == PLAIN + (f"\n{kept}" if kept else "")
    assert annotations_file(FACTS, found) == found


def test_the_dockerfile_has_the_same_labels_and_copies_the_directory() -> None:
    lines = dockerfile(replace(FACTS, has_scorecard=True), "build/x", {}, "").splitlines()
    assert [line for line in lines if line.startswith("COPY")] == [
        "COPY build/x/manifests /manifests/",
        "COPY build/x/metadata /metadata/",
        "COPY build/x/tests/scorecard /tests/scorecard/",
    ]
    labels = [line.removeprefix("LABEL ").replace("=", ": ", 1) for line in lines if line.startswith("LABEL")]
    annotations = annotations_file(replace(FACTS, has_scorecard=True), "").splitlines()
    assert labels == [line.strip() for line in annotations if line.startswith("  o")]


@pytest.mark.parametrize(
    ("existing", "foreign", "kept"),
    [
        pytest.param(PLAIN_DOCKERFILE, {}, "", id="a file without foreign lines"),
        pytest.param(PLAIN_DOCKERFILE.replace("bundle/", "other/"), {}, "", id="another directory"),
        pytest.param(
            f"{PLAIN_DOCKERFILE}LABEL a=b\nUSER 1\n", {}, "LABEL a=b\nUSER 1\n", id="instructions of somebody else"
        ),
        pytest.param(
            f"{PLAIN_DOCKERFILE}LABEL a=old\n", {"a": 'b "c"'}, 'LABEL a="b \\"c\\""\n', id="a foreign annotation"
        ),
    ],
)
def test_what_others_have_added_to_the_dockerfile_stays(existing: str, foreign: dict[str, str], kept: str) -> None:
    found = dockerfile(FACTS, "bundle", foreign, existing)
    mark = "\n# Copy"
    assert found == PLAIN_DOCKERFILE.replace(mark, f"\n{kept}{mark}" if kept else mark)
    assert dockerfile(FACTS, "bundle", foreign, found) == found


def test_foreign_annotations_are_texts() -> None:
    assert foreign_annotations(f"annotations: {{a: b, c: [d], {PREFIX}bundle.package.v1: p}}\n") == {"a": "b"}


def test_a_value_of_several_lines_is_read_again() -> None:
    facts = replace(FACTS, channels="a\nb: c")
    assert yaml.safe_load(annotations_file(facts, ""))["annotations"][f"{PREFIX}bundle.channels.v1"] == "a\nb: c"


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        pytest.param("a", "x\nRUN evil", "its value has a line break", id="a value of several lines"),
        pytest.param("a", "x\r\n# y", "its value has a line break", id="a comment between the lines"),
        pytest.param("a\nRUN evil", "b", "its key has", id="a line break in the key"),
        pytest.param("a b", "c", "its key has", id="a blank in the key"),
        pytest.param("a=b", "c", "its key has", id="an equals sign in the key"),
        pytest.param("", "c", "its key has", id="no key"),
        pytest.param("a.b/c_d-e", 'f "g" $h \\', "", id="a label"),
    ],
)
def test_a_label_is_one_line_or_none(key: str, value: str, words: str) -> None:
    assert label_problem(key, value).startswith(words)
    assert bool(label_problem(key, value)) == bool(words)
    found = dockerfile(FACTS, "bundle", {key: value}, "")
    assert len(found.splitlines()) == len(PLAIN_DOCKERFILE.splitlines()) + (0 if words else 2)
    assert "RUN" not in found
    assert dockerfile(FACTS, "bundle", {key: value}, found) == found, "it is read again as it was written"


def test_a_directory_with_blanks_is_copied_by_its_whole_name() -> None:
    found = dockerfile(FACTS, "my bundle\nRUN evil", {}, "")
    assert 'COPY ["my bundle\\nRUN evil/manifests", "/manifests/"]' in found.splitlines()
    assert dockerfile(FACTS, "bundle", {}, found) == PLAIN_DOCKERFILE
