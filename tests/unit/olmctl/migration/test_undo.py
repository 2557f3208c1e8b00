"""What is deleted when a package is given back to OLM v0."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from olmctl.commands import CommandError
from olmctl.migration.listing import Found
from olmctl.migration.marks import MARK, MARKS
from olmctl.migration.packages import make_plan
from olmctl.migration.records import Record
from olmctl.migration.undo import Undo
from olmctl.questions.session import Session
from olmkit.api.bundledeployments import OWNER_UID_LABEL
from olmkit.api.meta import Kind
from olmkit.errors import NotFound
from tests.unit.olmctl.migration.v0_objects import Object, olm, version

BEGUN, LATER, BEFORE = "2026-01-01T12:00:00Z", "2026-01-01T12:00:05Z", "2026-01-01T11:00:00Z"
ROLES = Kind("rbac.authorization.k8s.io", "v1", "Role", "roles", namespaced=True)
DEPLOYMENTS = Kind("apps", "v1", "Deployment", "deployments", namespaced=True)
CUSTOM = Kind("example.com", "v1", "Lamp", "lamps", namespaced=True)
DEFINITIONS = Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions")
NAMESPACES = Kind("", "v1", "Namespace", "namespaces")


class Recorded:
    """A client, and the session that has it, that records what is deleted and patched; with this BundleDeployment."""

    def __init__(self, deployment: Object | None = None) -> None:
        self._deployment = deployment
        self.writes: list[str] = []

    @property
    def client(self) -> Recorded:
        return self

    async def get(self, kind: Kind, *_: Any) -> Object:
        if self._deployment is None or kind.kind != "BundleDeployment":
            raise NotFound(404, "NotFound", "")
        return self._deployment

    async def delete(self, kind: Kind, name: str, *_: Any, uid: str) -> None:
        self.writes.append(f"deleted {kind.kind}")

    async def patch(self, kind: Kind, name: str, patch: Object, *_: Any) -> None:
        self.writes.append(f"patched {kind.kind}")


def undo(recorded: Recorded) -> Undo:
    marked = version(labels={MARK: "lamp"})
    entry = {"manager": "olm", "time": BEGUN, "fieldsV1": {"f:metadata": {"f:labels": {f"f:{MARK}": {}}}}}
    marked["metadata"]["managedFields"] = [entry]
    found = olm(versions=[marked])
    (plan,) = make_plan(found, {}).packages
    return Undo(cast(Session, recorded), found, plan, 1)


def new(kind: Kind, created: str = LATER, manager: str = MARKS.manager, **labels: str) -> Found:
    """An object whose record says that the migration has created it."""
    fields: Object = {"f:metadata": {"f:annotations": {f"f:{MARK}": {}}}}
    applied = {"manager": manager, "operation": "Apply", "time": LATER, "fieldsV1": fields}
    metadata: Object = {
        **{"name": "any", "namespace": "lamps", "uid": "1", "resourceVersion": "7", "creationTimestamp": created},
        **{"labels": {MARK: "lamp", **labels}, "annotations": {MARK: Record(is_new=True).dump()}},
        "managedFields": [applied],
    }
    return Found(kind, {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata})


@pytest.mark.parametrize(
    ("found", "write"),
    [
        pytest.param(new(ROLES), "deleted Role", id="what the Operator has created"),
        pytest.param(new(DEPLOYMENTS, BEFORE), "patched Deployment", id="the Deployment that it has taken over"),
        pytest.param(new(ROLES, manager="kubectl"), "patched Role", id="what somebody else has marked"),
        pytest.param(new(ROLES, manager="rukpak:lamp"), "patched Role", id="whose mark came with the bundle"),
        pytest.param(new(CUSTOM), "patched Lamp", id="a custom resource"),
        pytest.param(new(DEFINITIONS), "patched CustomResourceDefinition", id="a CustomResourceDefinition"),
        pytest.param(new(NAMESPACES), "patched Namespace", id="a Namespace"),
    ],
)
def test_a_record_that_anybody_has_written_deletes_nothing(
    found: Found, write: str, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded = Recorded()
    asyncio.run(undo(recorded).way.give_back(found, set()))
    assert recorded.writes == [write]
    words = f"warning: {found.kind.kind} lamps/any: its record says that the migration has created it, which it has not"
    assert (words in capsys.readouterr().err) == write.startswith("patched")


OWNED = {"ownerReferences": [{"uid": "uid-operator"}]}


@pytest.mark.parametrize(
    ("metadata", "policy", "uid", "is_refused"),
    [
        pytest.param({}, "KeepCRDs", "uid-bd", True, id="it was left without its Operator"),
        pytest.param({}, "Orphan", "uid-bd", True, id="nobody deletes it"),
        pytest.param(OWNED, "KeepCRDs", "uid-bd", True, id="it would delete what it has"),
        pytest.param({}, "KeepCRDs", "uid-other", False, id="it has nothing of the package"),
    ],
)
def test_a_bundle_deployment_that_goes_on_applying_is_named(
    metadata: Object, policy: str, uid: str, is_refused: bool
) -> None:
    deployment = {"metadata": {"name": "lamp", "uid": "uid-bd", **metadata}, "spec": {"deletionPolicy": policy}}
    request = undo(Recorded(deployment)).way.require_released([new(ROLES, **{OWNER_UID_LABEL: uid})])
    if not is_refused:
        return asyncio.run(request)
    with pytest.raises(CommandError, match="BundleDeployment lamp has what was taken from OLM v0, and no Operator"):
        asyncio.run(request)
    return None


@pytest.mark.parametrize(
    ("installed", "requested", "is_refused"),
    [
        pytest.param("1.0.0", "1.0.0", False, id="the same version"),
        pytest.param("", "1.0.0", False, id="it is being installed"),
        pytest.param("1.1.0", "1.1.0", True, id="it was upgraded"),
        pytest.param("1.1.0", "", True, id="it was upgraded by its channel"),
        pytest.param("1.0.0", "1.1.0", True, id="an upgrade has begun"),
    ],
)
def test_nothing_is_given_back_of_another_version(installed: str, requested: str, is_refused: bool) -> None:
    operator = {"spec": {"version": requested}, "status": {"installed": {"version": installed}}}
    if not is_refused:
        return undo(Recorded()).way.require_same_version(operator)
    words = r"has version 1\.1\.0, and OLM v0 has 1\.0\.0: it cannot be given back; `olm migrate v0 lamp` continues"
    with pytest.raises(CommandError, match=words):
        undo(Recorded()).way.require_same_version(operator)
    return None


def test_nothing_is_given_back_to_a_version_that_is_being_deleted() -> None:
    """OLM v0 would delete it."""
    request = undo(Recorded())
    assert request.plan.version is not None
    request.plan.version["metadata"]["deletionTimestamp"] = LATER
    with pytest.raises(
        CommandError, match="is being deleted: it cannot be given back; `olm migrate v0 lamp` continues"
    ):
        asyncio.run(request.run())
