"""Which changes enqueue which Bundles."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from olmkit.api.provisioner_classes import PLAIN, REGISTRY
from olmkit.runtime.informer import Change, Informer
from rukpak.bundle.events import EventMapper
from rukpak.bundle.uploads.stored_upload import Upload
from tests.unit.rukpak.bundle.worlds import deployment, revision, with_history

SHARED = "sha256:1"


def event_mapper(*bundles: dict[str, Any], pull_secret: str = "") -> EventMapper:
    objects = {("", each["metadata"]["name"]): each for each in bundles}
    return EventMapper(cast(Informer, SimpleNamespace(objects=objects)), pull_secret)


def bundle(generation: int = 1, uid: str = "u", conditions: int = 1, **status: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "a", "uid": uid, "generation": generation},
        "spec": {"provisionerClassName": REGISTRY},
        "status": {"conditions": [{}] * conditions, "resolvedSource": resolved(SHARED), **status},
    }


def resolved(digest: str) -> dict[str, Any]:
    return {"type": "image", "image": {"ref": f"r/a@{digest}"}}


@pytest.mark.parametrize(
    ("change", "keys"),
    [
        pytest.param(Change(None, bundle()), True, id="it came"),
        pytest.param(Change(bundle(), None), True, id="it went"),
        pytest.param(Change(bundle(), bundle(2)), True, id="another spec"),
        pytest.param(Change(bundle(), bundle(uid="v")), True, id="another Bundle of its name"),
        pytest.param(
            Change(bundle(), bundle(phase="Unpacked"), is_own_write=True),
            False,
            id="the status was written by this process",
        ),
        pytest.param(Change(bundle(), bundle(phase="Unpacked")), True, id="the status was written by somebody else"),
        pytest.param(Change(bundle(), bundle()), False, id="anything else was written by somebody else"),
        pytest.param(Change(bundle(), bundle(conditions=0)), True, id="its status was cleared"),
    ],
)
def test_changes_of_a_bundle(change: Change, keys: bool) -> None:
    assert list(event_mapper().keys_of_bundle(change)) == (["a"] if keys else [])


@pytest.mark.parametrize(
    ("change", "keys"),
    [
        pytest.param(Change(None, deployment()), ["a"], id="a new object with a record"),
        pytest.param(Change({**deployment(), "status": {}}, deployment()), ["a"], id="a new record"),
        pytest.param(Change(deployment(), deployment(image="x")), ["a"], id="another record"),
        pytest.param(Change(deployment(), deployment()), [], id="any other change"),
        pytest.param(
            Change(deployment(), None), ["a"], id="it went after its Bundle: the content is not needed any more"
        ),
        pytest.param(Change(deployment(bundle="b"), None), [], id="it went before its Bundle"),
        pytest.param(Change(with_history(), with_history(revision())), ["a"], id="a revision begins"),
    ],
)
def test_changes_of_a_bundle_deployment(change: Change, keys: list[str]) -> None:
    existing = {"metadata": {"name": "b"}}
    assert list(event_mapper(existing).keys_of_deployment(change)) == keys


@pytest.mark.parametrize(
    ("change", "keys"),
    [
        pytest.param(Change(bundle(), None), ["a", "b"], id="it was deleted"),
        pytest.param(Change(bundle(), bundle(2)), ["a", "b"], id="its spec changed"),
        pytest.param(Change(bundle(), bundle(phase="Unpacked"), is_own_write=True), [], id="its status changed"),
        pytest.param(Change(None, bundle()), ["a"], id="it was created"),
    ],
)
def test_bundles_that_conflict_with_the_changed_one(change: Change, keys: list[str]) -> None:
    """Whatever their messages say."""

    def other(name: str, provisioner: str = PLAIN, digest: str = SHARED, phase: str = "Failing") -> dict[str, Any]:
        status = {"phase": phase, "conditions": [{"message": "x"}], "resolvedSource": resolved(digest)}
        return {"metadata": {"name": name}, "spec": {"provisionerClassName": provisioner}, "status": status}

    mapper = event_mapper(
        other("b"),
        other("of-the-same-provisioner", REGISTRY),
        other("of-another-image", digest="sha256:2"),
        other("unpacked", phase="Unpacked"),
        {"metadata": {"name": "new"}, "spec": {"provisionerClassName": PLAIN}},
    )
    assert list(mapper.keys_of_bundle(change)) == keys


def test_a_bundle_whose_image_was_never_found_conflicts_with_none() -> None:
    unknown = {**bundle(), "status": {}}
    failing = {
        "metadata": {"name": "b"},
        "spec": {"provisionerClassName": PLAIN},
        "status": {"phase": "Failing", "conditions": []},
    }
    assert list(event_mapper(failing).keys_of_bundle(Change(unknown, None))) == ["a"]


def of_image(name: str, phase: str, **image: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "spec": {"source": {"type": "image", "image": {"ref": "r/a:v1", **image}}},
        "status": {"phase": phase} if phase else {},
    }


@pytest.mark.parametrize(
    ("secret", "keys"),
    [
        pytest.param("login", ["named", "unpacked"], id="a Secret that Bundles name"),
        pytest.param("for-all", ["named", "new", "failing"], id="the Secret for all Bundles"),
        pytest.param("git-login", ["of-git"], id="a Secret that a Bundle names for its repository"),
        pytest.param("other", [], id="any other Secret"),
    ],
)
def test_changes_of_a_secret(secret: str, keys: list[str]) -> None:
    git = {"repository": "https://x/r", "ref": {"tag": "v1"}, "auth": {"secret": {"name": "git-login"}}}
    of_git = {
        "metadata": {"name": "of-git"},
        "spec": {"source": {"type": "git", "git": git}},
        "status": {"phase": "Unpacked"},
    }
    mapper = event_mapper(
        of_image("named", "Failing", pullSecret="login"),
        of_image("unpacked", "Unpacked", pullSecret="login"),
        of_image("new", ""),
        of_image("failing", "Failing"),
        of_image("ready", "Unpacked"),
        of_git,
        pull_secret="for-all",
    )
    obj = {"metadata": {"name": secret}}
    for change in (Change(None, obj), Change(obj, obj), Change(obj, None)):
        assert list(mapper.keys_of_secret(change)) == keys


@pytest.mark.parametrize(
    ("config_map", "keys"),
    [
        pytest.param("first", ["failing", "unpacked"], id="a ConfigMap that Bundles name"),
        pytest.param("second", ["unpacked"], id="the second of a Bundle"),
        pytest.param("login", [], id="a ConfigMap with the name of a Secret"),
    ],
)
def test_changes_of_a_config_map(config_map: str, keys: list[str]) -> None:
    def of_maps(name: str, phase: str, *maps: str) -> dict[str, Any]:
        source = {"type": "configMaps", "configMaps": [{"configMap": {"name": each}} for each in maps]}
        return {"metadata": {"name": name}, "spec": {"source": source}, "status": {"phase": phase}}

    mapper = event_mapper(
        of_maps("failing", "Failing", "first"),
        of_maps("unpacked", "Unpacked", "first", "second"),
        of_image("of-an-image", "Failing", pullSecret="login"),
    )
    obj = {"metadata": {"name": config_map}}
    for change in (Change(None, obj), Change(obj, obj), Change(obj, None)):
        assert list(mapper.keys_of_config_map(change)) == keys


def test_changes_of_an_upload() -> None:
    """Parts come by the dozen, and nobody waits for one."""
    upload = Upload("a", "u", "sha256:" + "a" * 64, 1)
    index, part = upload.index("s"), upload.part("p", "s", b"x")
    mapper = event_mapper()
    assert list(mapper.keys_of_config_map(Change(None, index))) == ["a"]
    assert list(mapper.keys_of_config_map(Change(index, None))) == ["a"]
    assert list(mapper.keys_of_config_map(Change(None, part))) == []
    index["metadata"]["ownerReferences"] = []
    assert list(mapper.keys_of_config_map(Change(None, index))) == []
