"""Which writes of a ConfigMap `vconfigmaps.core.rukpak.io` denies."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.admission.review import AdmissionRequest, Denial
from rukpak.admission.config_maps import validate_config_map
from rukpak.bundle.uploads.stored_upload import Upload


def bundle(name: str, *maps: str, kind: str = "configMaps") -> dict[str, Any]:
    members = [{"configMap": {"name": each}} for each in maps]
    return {"metadata": {"name": name}, "spec": {"source": {"type": kind, "configMaps": members}}}


def config_map(name: str, *, immutable: Any = None) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "s"}, "data": {}, "immutable": immutable}


NOW = "2026-01-01T00:00:00Z"
BUNDLES = [bundle("b", "files", "more"), bundle("a", "files"), bundle("c", "other"), bundle("d", "free", kind="git")]
REFERENCED = (
    'configmap "{}" is referenced in .spec.source.configMaps[].configMap.name by bundles [{}]; '
    "referenced configmaps must have .immutable == true"
)


@pytest.mark.parametrize(
    ("obj", "denial"),
    [
        pytest.param(config_map("files"), REFERENCED.format("files", "a b"), id="that two Bundles name"),
        pytest.param(config_map("more", immutable=False), REFERENCED.format("more", "b"), id="that one Bundle names"),
        pytest.param(config_map("files", immutable="true"), REFERENCED.format("files", "a b"), id="with a text"),
        pytest.param(config_map("files", immutable=True), None, id="immutable"),
        pytest.param(config_map("free"), None, id="that no Bundle reads"),
    ],
)
def test_creations(obj: dict[str, Any], denial: str | None) -> None:
    expected = None if denial is None else Denial(denial)
    assert validate_config_map(AdmissionRequest("u", obj), BUNDLES) == expected


@pytest.mark.parametrize(
    ("obj", "denial"),
    [
        pytest.param(config_map("files", immutable=True), 'configmap "files" is in-use by bundle "a"', id="in use"),
        pytest.param(config_map("other"), 'configmap "other" is in-use by bundle "c"', id="in use and mutable"),
        pytest.param(config_map("free", immutable=True), None, id="not in use"),
    ],
)
def test_deletions(obj: dict[str, Any], denial: str | None) -> None:
    expected = None if denial is None else Denial(denial)
    assert validate_config_map(AdmissionRequest("u", old=obj), BUNDLES) == expected


def test_the_configmap_of_a_bundle_that_waits_for_other_files_is_deleted() -> None:
    """An immutable ConfigMap with wrong files can only be replaced."""
    stalled = bundle("a", "files")
    condition = {"type": "Stalled", "status": "True", "reason": "Blocked", "message": "m", "lastTransitionTime": NOW}
    stalled["status"] = {"conditions": [condition]}
    request = AdmissionRequest("u", old=config_map("files", immutable=True))
    assert validate_config_map(request, [stalled]) is None
    denial = validate_config_map(request, [stalled, bundle("b", "files")])
    assert denial == Denial('configmap "files" is in-use by bundle "b"')
    stalled["status"]["conditions"][0]["status"] = "False"
    assert validate_config_map(request, [stalled]) == Denial('configmap "files" is in-use by bundle "a"')
    created = validate_config_map(AdmissionRequest("u", config_map("files")), [stalled])
    assert created == Denial(REFERENCED.format("files", "a"))


@pytest.mark.parametrize(
    ("user", "is_asked"),
    [
        ("jane", True),
        ("system:admin", True),
        ("system:serviceaccount:team:rukpak", True),
        ("system:serviceaccount:olm-suite-system:catalogd", False),
        ("system:serviceaccount:kube-system:root-ca-cert-publisher", False),
        ("system:serviceaccount:kube-system:namespace-controller", False),
        ("system:kube-controller-manager", False),
    ],
)
def test_a_bundle_keeps_no_controller_from_its_configmaps(user: str, is_asked: bool) -> None:
    """The CAs of the suite and of the cluster are mutable, and a Bundle may have any name of a ConfigMap."""
    obj = config_map("files")
    obj["metadata"]["namespace"] = "olm-suite-system"
    created = validate_config_map(AdmissionRequest("u", obj, user=user), BUNDLES)
    deleted = validate_config_map(AdmissionRequest("u", old=obj, user=user), BUNDLES)
    assert [denial is not None for denial in (created, deleted)] == [is_asked, is_asked]


def test_a_change_is_left_to_the_api_server() -> None:
    """It refuses each change of an immutable ConfigMap; a mutable one may become immutable."""
    old, new = config_map("files"), config_map("files", immutable=True)
    assert validate_config_map(AdmissionRequest("u", new, old), BUNDLES) is None
    assert validate_config_map(AdmissionRequest("u", old, old), BUNDLES) is None
    assert validate_config_map(AdmissionRequest("u"), BUNDLES) is None


DIGEST, OTHER = "sha256:" + "a" * 64, "sha256:" + "b" * 64
UPLOAD_IN_USE = Denial('configmap "upload-u" is in-use by bundle "a"')


def uploaded(spec: str = "", resolved: str = "", uid: str = "u", **metadata: Any) -> dict[str, Any]:
    source = {"type": "upload", "upload": {"digest": spec} if spec else {}}
    status = {"resolvedSource": {"type": "upload", "upload": {"digest": resolved}}} if resolved else {}
    return {"metadata": {"name": "a", "uid": uid, **metadata}, "spec": {"source": source}, "status": status}


@pytest.mark.parametrize(
    ("bundle", "denial"),
    [
        pytest.param(uploaded(DIGEST), UPLOAD_IN_USE, id="that a Bundle is to have"),
        pytest.param(uploaded("", DIGEST), UPLOAD_IN_USE, id="that a Bundle has"),
        pytest.param(uploaded(), None, id="that a Bundle may have, or another one"),
        pytest.param(uploaded(OTHER), None, id="that a Bundle does not want"),
        pytest.param(uploaded(DIGEST, uid="v"), None, id="of an earlier Bundle of the name"),
        pytest.param(uploaded(DIGEST, deletionTimestamp=NOW), None, id="of a Bundle that is being deleted"),
    ],
)
def test_deletions_of_an_upload(bundle: dict[str, Any], denial: Denial | None) -> None:
    upload = Upload("a", "u", DIGEST, 1)
    assert validate_config_map(AdmissionRequest("u", old=upload.index("s")), [bundle]) == denial
    part = upload.part("upload-u", "s", b"x")
    assert validate_config_map(AdmissionRequest("u", old=part), [bundle]) == denial
