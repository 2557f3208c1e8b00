"""Which writes of a Bundle `vbundles.core.rukpak.io` denies."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.admission.review import AdmissionRequest, Denial
from rukpak.admission.bundles import IMMUTABLE, PROBE_ANNOTATION, PROBE_ANSWERED, validate_bundle

IMAGE: dict[str, Any] = {"ref": "registry.example.com/ship:v1", "pullSecret": "login"}
SPEC: dict[str, Any] = {"provisionerClassName": "core-rukpak-io-plain", "source": {"type": "image", "image": IMAGE}}
SHORT: dict[str, Any] = {**SPEC, "source": {"type": "image", "image": {"ref": IMAGE["ref"]}}}
NEWER: dict[str, Any] = {**SPEC, "source": {"type": "oci", "oci": {"ref": "a"}}}


def bundle(spec: Any, **annotations: str) -> dict[str, Any]:
    return {"metadata": {"name": "ship", "annotations": annotations}, "spec": spec}


def change(old: Any, new: Any) -> Denial | None:
    return validate_bundle(AdmissionRequest("u", bundle(new), bundle(old)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(SPEC, SPEC, id="the same"),
        pytest.param(SPEC, dict(reversed(SPEC.items())), id="the same in another order"),
        pytest.param(
            SHORT,
            {**SHORT, "source": {**SHORT["source"], "image": {"ref": IMAGE["ref"], "pullSecret": None}}},
            id="a field without a value written out",
        ),
        pytest.param(SPEC, {**SPEC, "unknown": None}, id="a field that nobody knows and that is null"),
        pytest.param(NEWER, dict(NEWER), id="the same of a version that is not known"),
    ],
)
def test_a_spec_with_the_same_meaning_is_accepted(old: Any, new: Any) -> None:
    assert change(old, new) is None
    assert change(new, old) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(SPEC, {**SPEC, "provisionerClassName": "core-rukpak-io-registry"}, id="another format"),
        pytest.param(SPEC, {**SPEC, "source": {"type": "image", "image": {**IMAGE, "ref": "x"}}}, id="another image"),
        pytest.param(SPEC, SHORT, id="without the Secret"),
        pytest.param(SPEC, NEWER, id="a source of a version that is not known"),
        pytest.param(NEWER, {**NEWER, "source": {"type": "oci", "oci": {"ref": "b"}}}, id="both of such a version"),
        pytest.param(SPEC, None, id="no spec"),
    ],
)
def test_a_spec_with_another_meaning_is_denied_with_a_reason_alone(old: Any, new: Any) -> None:
    assert change(old, new) == change(new, old) == Denial(IMMUTABLE) == Denial("bundle.spec is immutable", "")


def test_a_bundle_is_created_unless_it_is_the_probe() -> None:
    assert validate_bundle(AdmissionRequest("u", bundle(SPEC))) is None
    probe = bundle(SPEC, **{PROBE_ANNOTATION: "true"})
    assert validate_bundle(AdmissionRequest("u", probe)) == Denial(PROBE_ANSWERED)
    assert validate_bundle(AdmissionRequest("u", probe, bundle(SPEC))) is None


REPOSITORY: dict[str, Any] = {"repository": "https://git.example.com/r", "ref": {"branch": "main"}}


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        pytest.param({"type": "git"}, 'bundle.spec.source.git must be set for source type "git"', id="no repository"),
        pytest.param({"type": "image"}, 'bundle.spec.source.image must be set for source type "image"', id="no image"),
        pytest.param(
            {"type": "git", "git": REPOSITORY, "image": IMAGE},
            'bundle.spec.source.image must not be set for source type "git"',
            id="two sources",
        ),
        pytest.param(
            {"type": "git", "git": {**REPOSITORY, "directory": "../a"}},
            'bundle.spec.source.git.directory begins with "../": directory must define path within the repository',
            id="a directory outside the repository",
        ),
    ],
)
def test_a_bundle_without_the_member_of_its_type_is_not_created(source: Any, reason: str) -> None:
    created = AdmissionRequest("u", bundle({**SPEC, "source": source}))
    assert validate_bundle(created) == Denial(reason)


def test_a_bundle_of_a_repository_or_of_a_newer_version_is_created() -> None:
    for source in ({"type": "git", "git": REPOSITORY}, NEWER["source"]):
        assert validate_bundle(AdmissionRequest("u", bundle({**SPEC, "source": source}))) is None


def test_a_deletion_is_allowed() -> None:
    assert validate_bundle(AdmissionRequest("u", old=bundle(SPEC))) is None
