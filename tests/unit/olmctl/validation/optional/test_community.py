"""Bundles with removed APIs, and the versions of OpenShift that they are offered for."""

from __future__ import annotations

from pathlib import Path

import pytest

from olmctl.validation.optional.community import community
from tests.unit.olmctl.validation.made_bundle import annotate, made, put
from tests.unit.olmctl.validation.optional.findings import found

REMOVED = put("apiVersion", "apiextensions.k8s.io/v1beta1")
MAXIMUM = '[{"type": "olm.maxOpenShiftVersion", "value": "4.8"}]'
LABEL = "com.redhat.openshift.versions"


def texts(properties: str | None, **values: str) -> list[tuple[str, str]]:
    bundle = made(annotate("olm.properties", properties), crd=REMOVED)
    return [(level, text.partition(") ")[2]) for level, text in found(community, bundle, **values)]


def test_without_removed_apis_nothing_is_checked() -> None:
    assert found(community, made()) == []


def test_a_bundle_that_is_kept_from_newer_versions(tmp_path: Path) -> None:
    dockerfile = tmp_path / "bundle.Dockerfile"
    for label in ("v4.5-v4.8", '"4.6-4.8"', "=v4.8"):
        dockerfile.write_text(f"FROM scratch\nLABEL {LABEL}={label}\n")
        assert texts(MAXIMUM, index_path=str(dockerfile)) == []


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        pytest.param(
            None, "csv.Annotations not specified olm.maxOpenShiftVersion for an OCP version < 4.9.", id="missing"
        ),
        pytest.param("{", "csv.Annotations has an invalid value specified for olm.properties.", id="no JSON"),
        pytest.param(
            '[{"type": "a", "value": 1}]', "csv.Annotations has an invalid value specified for", id="a number"
        ),
        pytest.param(
            "[]", "csv.Annotations.olm.properties with the key `olm.maxOpenShiftVersion` and a value", id="no key"
        ),
        pytest.param(
            MAXIMUM.replace("4.8", "new"),
            'using semver : Invalid character(s) found in major number "0new"',
            id="no version",
        ),
        pytest.param(MAXIMUM.replace("4.8", "4.9"), "has the OCP version value 4.9 which is >= of 4.9.", id="too new"),
    ],
)
def test_a_wrong_annotation_is_reported_twice_without_a_dockerfile(properties: str | None, words: str) -> None:
    first, second, third = texts(properties)
    assert (first[0], second[0], third[0]) == ("warning", "warning", "error")
    assert words in first[1] == third[1]
    assert second[1].startswith("please, inform the path of its index image file")


def test_a_patch_version_is_a_warning(tmp_path: Path) -> None:
    dockerfile = tmp_path / "bundle.Dockerfile"
    dockerfile.write_text(f"LABEL {LABEL}=4.6-4.8\n")
    ((level, text),) = texts(MAXIMUM.replace("4.8", "4.8.1"), index_path=str(dockerfile))
    assert level == "warning"
    assert text.endswith("must specify only major.minor versions, 4.8.1 will be truncated to 4.8.0")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        pytest.param("FROM scratch", "or provide compatible version(s) via the labels. (e.g. LABEL", id="no label"),
        pytest.param(f"LABEL {LABEL} v4.6", f"invalid syntax (LABEL {LABEL} v4.6) for ({LABEL})", id="no ="),
        pytest.param(f"LABEL {LABEL}=v", f"unable to get the range informed on {LABEL}", id="no range"),
        pytest.param(f"LABEL {LABEL}=v4.6", "The 4.6 allows to distribute it on >= 4.9.", id="no upper end"),
        pytest.param(f"LABEL {LABEL}=a-b", f"unable to parse the value (b) on ({LABEL})", id="no version"),
        pytest.param(f"LABEL {LABEL}=4.6-4.9", "Upgrade the APIs from for CRD:", id="a range that is too new"),
        pytest.param(f"LABEL {LABEL}==v4.9", "will be geneared with its label.", id="a version that is too new"),
    ],
)
def test_a_wrong_label(line: str, words: str, tmp_path: Path) -> None:
    dockerfile = tmp_path / "bundle.Dockerfile"
    dockerfile.write_text(f"{line}\n")
    ((level, text),) = texts(MAXIMUM, index_path=str(dockerfile))
    assert level == "error"
    assert words in text


def test_a_path_that_leads_to_no_file(tmp_path: Path) -> None:
    missing = tmp_path / "a"
    ((_, text),) = texts(MAXIMUM, index_path=str(missing))
    assert text.endswith(f"Error : stat {missing}: no such file or directory")
    ((_, text),) = texts(MAXIMUM, index_path=str(tmp_path))
    assert text.endswith("The value informed is a diretory and not a file")
