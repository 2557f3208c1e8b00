"""What ends the wait of `olm bundle run`: another change of the BundleDeployment, and an image that does not exist."""

from __future__ import annotations

from dataclasses import replace

import pytest

from olmctl.bundle.facts import BundleFacts
from olmctl.bundle.installing import (
    Request,
    check_kept_package,
    check_unchanged,
    is_missing_image,
    left_error,
    moved_from,
    owner_error,
    ways,
    with_kept_namespace,
)
from olmctl.bundle.source import BundleSource
from olmctl.commands import FAILED, CommandError
from olmctl.questions.left_installations import LeftInstallation
from olmkit.api.meta import Object
from olmkit.api.provisioner_classes import HELM, PLAIN, REGISTRY
from olmkit.errors import OlmError
from rukpak.format.bundle import PlainBundle
from tests.unit.olmctl.bundle import installations
from tests.unit.olmctl.bundle.bundles import widgets

IMAGE: Object = {"type": "image", "image": {"ref": "registry.example.com/widgets:v1"}}
OTHER: Object = {"type": "image", "image": {"ref": "registry.example.com/widgets:v2"}}
UPLOAD: Object = {"type": "upload", "upload": {"digest": "sha256:0"}}
GIT = {"type": "git", "git": {"repository": "https://git.example.com/widgets"}}


def deployment(generation: int, source: Object = IMAGE, *, uid: str = "1", pause: bool = False) -> Object:
    template = {"spec": {"provisionerClassName": "registry", "source": source}}
    spec = {"template": template, **({"paused": True} if pause else {})}
    return {"metadata": {"name": "widgets", "uid": uid, "generation": generation}, "spec": spec}


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(deployment(2), id="that is as it was applied"),
        pytest.param(deployment(3, pause=True), id="of which another field was changed"),
        pytest.param(deployment(1, OTHER), id="as it was before, from a cache"),
    ],
)
def test_a_deployment_with_the_bundle(found: Object) -> None:
    check_unchanged(deployment(2), found)


@pytest.mark.parametrize(
    ("found", "bundle"),
    [
        pytest.param(deployment(3, OTHER), "registry.example.com/widgets:v2", id="another image"),
        pytest.param(deployment(3, UPLOAD), "sha256:0", id="a directory"),
        pytest.param(deployment(3, GIT), "another one", id="another source"),
        pytest.param(deployment(1, uid="2"), "registry.example.com/widgets:v1", id="created again"),
    ],
)
def test_a_deployment_with_another_bundle(found: Object, bundle: str) -> None:
    with pytest.raises(CommandError) as caught:
        check_unchanged(deployment(2), found)
    text = f"widgets was changed by somebody else while waiting: its bundle is {bundle}"
    assert (caught.value.status, str(caught.value)) == (FAILED, text)


@pytest.mark.parametrize(
    ("unread", "message", "is_missing"),
    [
        pytest.param(OlmError("ImageNotFound", "no such tag"), "Failed to unpack a: no such tag", True, id="missing"),
        pytest.param(OlmError("ImageNotFound", "no such tag"), "unpacking", False, id="missing here alone"),
        pytest.param(OlmError("RegistryUnavailable", "no host"), "Failed: no host", False, id="not reached"),
        pytest.param(None, "Failed to unpack a: no such tag", False, id="missing there alone"),
    ],
)
def test_an_image_that_does_not_exist(unread: OlmError | None, message: str, is_missing: bool) -> None:
    source = BundleSource("registry.example.com/widgets:v1", "widgets", "registry", None, None, unread=unread)
    assert is_missing_image(source, message) is is_missing


@pytest.mark.parametrize(
    ("package", "text"),
    [
        pytest.param(
            "widgets",
            "package widgets is installed by Operator w, and its objects exist once: remove that one first (olm uninstall w)",
            id="of the same package, which another name does not help",
        ),
        pytest.param(
            "", "BundleDeployment w belongs to Operator w: choose another name with --name", id="of no package"
        ),
        pytest.param(
            "a", "BundleDeployment w belongs to Operator w: choose another name with --name", id="of another one"
        ),
    ],
)
def test_a_deployment_of_an_operator(package: str, text: str) -> None:
    found = installations.deployment("w", owner="w")
    (owner,) = found["metadata"]["ownerReferences"]
    error = owner_error(found, owner, package)
    assert (error.status, str(error)) == (5, text)


def run_of(provisioner: str, facts: BundleFacts | None, *, is_forced: bool = False) -> Request:
    source = BundleSource("registry.example.com/widgets:v1", "w", provisioner, None, facts)
    return Request("w", source, {}, is_forced, 60)


@pytest.mark.parametrize(
    ("request_", "owner"),
    [
        pytest.param(run_of(PLAIN, BundleFacts(PlainBundle(()))), "no package", id="a plain bundle"),
        pytest.param(run_of(HELM, None), "no package", id="a chart"),
        pytest.param(run_of(REGISTRY, widgets()), "package widgets", id="a bundle of another package"),
    ],
)
def test_what_would_remove_an_installed_package_is_refused(request_: Request, owner: str) -> None:
    existing = installations.deployment("w", "gadgets")
    with pytest.raises(CommandError) as caught:
        check_kept_package(request_, existing)
    text = f"BundleDeployment w is of package gadgets, and this bundle of {owner}"
    remedy = "choose another name with --name, or use --force"
    assert (caught.value.status, str(caught.value)) == (5, f"{text}: {remedy}")
    check_kept_package(replace(request_, is_forced=True), existing)
    check_kept_package(request_, None)


@pytest.mark.parametrize(
    "facts", [pytest.param(widgets(), id="of the package"), pytest.param(None, id="not read here")]
)
def test_a_bundle_that_may_be_of_the_installed_package_is_run(facts: BundleFacts | None) -> None:
    check_kept_package(run_of(REGISTRY, facts), installations.deployment("w"))


@pytest.mark.parametrize(
    ("manager", "remedy"),
    [
        pytest.param("olm", "--name w changes that one, or use --force", id="of an earlier run"),
        pytest.param("velero", "remove that one first, or use --force", id="of others"),
    ],
)
def test_a_package_that_is_installed_under_another_name(manager: str, remedy: str) -> None:
    """What runs, with its data, is not to be removed for a name."""
    error = left_error(LeftInstallation(installations.deployment("w", manager=manager)))
    text = f"package widgets is installed by BundleDeployment w, and its objects exist once: {remedy}"
    assert (error.status, str(error)) == (5, text)


EXPLAIN = "olm why widgets explains it"
REMOVE = f"{EXPLAIN}, olm bundle cleanup widgets removes the BundleDeployment"
RETURN = f"{EXPLAIN}, olm bundle upgrade registry.example.com/widgets:v1 --name widgets returns to widgets.v1"
FORCE = RETURN.replace("--name widgets", "--name widgets --force")
SETTINGS = RETURN.replace("upgrade", "run").replace("returns", "with the earlier options returns")
AGAIN = SETTINGS.replace("v1", "v2")
FILES = f"{RETURN.replace(IMAGE['image']['ref'], 'DIRECTORY')}, with its files in DIRECTORY"
AGAIN_AS_IT_IS = (
    f"{EXPLAIN}, a corrected bundle is tried at once, olm bundle upgrade registry.example.com/widgets:v2 --name widgets "
    "--rollback Never tries the failed bundle again without a rollback"
)
LOGIN: Object = {"type": "image", "image": {**OTHER["image"], "pullSecret": "absent"}}
ABSENT = [{"type": "Reconciling", "status": "True", "reason": "WaitingForServiceAccount"}]


def ran(source: Object, bundle: str = "widgets-1", *, whole: bool = True) -> Object:
    """A BundleDeployment that has installed a bundle of this source."""
    record = {"bundle": bundle, "name": "widgets.v1", "spec": {"source": source}}
    return {"status": {"installed": record, **({"appliedDigest": "sha256:0"} if whole else {})}}


def rolled_back(source: Object) -> Object:
    """A BundleDeployment that runs a bundle of this source again, because the one that is asked for has failed."""
    conditions = [{"type": "Ready", "status": "False", "reason": "RolledBack"}]
    return {"status": {**ran(source)["status"], "conditions": conditions}}


def revision(source: Object, outcome: str, name: str) -> Object:
    return {"name": name, "outcome": outcome, "spec": {"source": source}}


HISTORY = [
    revision(OTHER, "Failed", "widgets.v2"),
    revision(UPLOAD, "RolledBack", "widgets.v2-rc"),
    revision(IMAGE, "Succeeded", "widgets.v1"),
    revision(UPLOAD, "Succeeded", "widgets.v0"),
]


@pytest.mark.parametrize(
    ("existing", "found", "text"),
    [
        pytest.param(None, None, REMOVE, id="created"),
        pytest.param({"status": {}}, {"status": {}}, REMOVE, id="never installed"),
        pytest.param(ran(OTHER), ran(OTHER), REMOVE, id="the same bundle again"),
        pytest.param(ran(IMAGE), ran(IMAGE), f"widgets.v1 continues to run, {RETURN}", id="refused as a whole"),
        pytest.param(ran(IMAGE), ran(IMAGE, whole=False), RETURN, id="refused halfway"),
        pytest.param(ran(IMAGE), ran(OTHER, "widgets-2"), FORCE, id="installed, and not healthy"),
        pytest.param(
            ran(OTHER, "widgets-2"),
            {"status": {**ran(OTHER, "widgets-2")["status"], "history": HISTORY}},
            FORCE,
            id="the same bundle again, of which an earlier one had succeeded",
        ),
        pytest.param(
            ran(UPLOAD, "widgets-2"),
            {"status": {**ran(OTHER, "widgets-3")["status"], "history": HISTORY}},
            FORCE,
            id="after another one that had not succeeded",
        ),
        pytest.param(ran(IMAGE), None, RETURN, id="it is not known what runs"),
        pytest.param(ran(UPLOAD), None, FILES, id="after a directory, and it is not known whether its files are kept"),
        pytest.param(
            ran(UPLOAD),
            ran(UPLOAD),
            f"widgets.v1 continues to run, {FILES} (olm bundle content widgets-1 -o DIRECTORY)",
            id="after a directory, whose files rukpak has while its bundle is installed",
        ),
        pytest.param(
            ran(UPLOAD),
            ran(OTHER, "widgets-2"),
            FILES.replace("--name widgets", "--name widgets --force"),
            id="after a directory, whose files are gone since another bundle is installed",
        ),
        pytest.param(ran(IMAGE), rolled_back(IMAGE), AGAIN_AS_IT_IS, id="rolled back"),
        pytest.param(ran(UPLOAD), rolled_back(UPLOAD), AGAIN_AS_IT_IS, id="rolled back to a directory"),
    ],
)
def test_what_a_failed_run_advises(existing: Object | None, found: Object | None, text: str) -> None:
    source = BundleSource(OTHER["image"]["ref"], "widgets", "registry", None, None)
    assert ways("widgets", source, existing, found) == text


def succeeded(source: Object, **status: object) -> Object:
    """A BundleDeployment whose bundle of this source had succeeded, after another one."""
    history = [revision(source, "Succeeded", "widgets.v2"), revision(IMAGE, "Succeeded", "widgets.v1")]
    return {"status": {**ran(source)["status"], "history": history, **status}}


@pytest.mark.parametrize(
    ("found", "secret", "text"),
    [
        pytest.param(succeeded(OTHER), "", AGAIN, id="the same bundle with another ServiceAccount"),
        pytest.param(
            succeeded(OTHER, history=[revision(OTHER, "Failed", "widgets.v2"), *succeeded(OTHER)["status"]["history"]]),
            "",
            AGAIN,
            id="the same bundle with a config that fails",
        ),
        pytest.param(
            succeeded(OTHER), "absent", f"widgets.v2 continues to run, {AGAIN}", id="the same bundle with another login"
        ),
        pytest.param(
            succeeded(LOGIN), "", f"widgets.v2 continues to run, {AGAIN}", id="the same bundle without a login"
        ),
        pytest.param(
            ran(IMAGE), "absent", f"widgets.v1 continues to run, {SETTINGS}", id="another bundle with a login"
        ),
        pytest.param(
            {"status": {**ran(IMAGE)["status"], "conditions": ABSENT}},
            "",
            f"widgets.v1 continues to run, {SETTINGS}",
            id="another bundle, and a ServiceAccount that upgrade would keep",
        ),
    ],
)
def test_settings_that_upgrade_keeps_are_set_anew_with_run(found: Object, secret: str, text: str) -> None:
    source = BundleSource(OTHER["image"]["ref"], "widgets", "registry", None, None, pull_secret=secret)
    assert ways("widgets", source, found, found) == text


@pytest.mark.parametrize(
    ("settings", "existing", "namespace"),
    [
        pytest.param({}, None, None, id="the bundle suggests it"),
        pytest.param({}, {"spec": {}}, None, id="it was suggested before"),
        pytest.param({}, {"spec": {"installNamespace": "a"}}, "a", id="it was chosen before"),
        pytest.param({"installNamespace": "b"}, {"spec": {"installNamespace": "a"}}, "b", id="another one is chosen"),
    ],
)
def test_an_installation_keeps_its_namespace(settings: Object, existing: Object | None, namespace: str | None) -> None:
    source = BundleSource(OTHER["image"]["ref"], "widgets", "registry", None, None)
    request = with_kept_namespace(Request("widgets", source, settings, is_forced=False, seconds=1), existing)
    assert request.manifest()["spec"].get("installNamespace") == namespace


@pytest.mark.parametrize(
    ("namespace", "existing", "is_moved"),
    [
        pytest.param("b", None, False, id="nothing is there"),
        pytest.param("b", {"status": {}}, False, id="nothing was installed"),
        pytest.param("a", {"status": {"installNamespace": "a"}}, False, id="the same"),
        pytest.param("", {"status": {"installNamespace": "a"}}, False, id="the bundle suggests it"),
        pytest.param("b", {"status": {"installNamespace": "a"}}, True, id="another one"),
    ],
)
def test_a_move_to_another_namespace_is_warned_of(namespace: str, existing: Object | None, is_moved: bool) -> None:
    source = BundleSource(OTHER["image"]["ref"], "widgets", "registry", None, None)
    settings = {"installNamespace": namespace} if namespace else {}
    text = "widgets moves from namespace a to b: a is deleted, unless it was there before or has objects of others"
    assert moved_from(Request("widgets", source, settings, is_forced=False, seconds=1), existing) == text * is_moved
