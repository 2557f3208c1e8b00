"""Protected Operators and BundleDeployments on the real API server: deleted by kubectl in every way, refused while in use."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from devcluster.services import free_address
from olmkit.api import bundledeployments, operators
from olmkit.api.bundledeployments import DELETION_HOLD_ANNOTATION, MEMBER_LABEL_PREFIX, OWNER_UID_LABEL
from olmkit.api.meta import controller_reference
from olmkit.api.operators import INSTALLED_FOR_LABEL
from olmkit.errors import Forbidden, Unavailable
from olmkit.runtime.client import Client
from rukpak.admission.setup import (
    BUNDLE_DEPLOYMENT_PATH,
    BUNDLE_PATH,
    CONFIG_MAP_PATH,
    DEFINITION_PATH,
    NAMESPACE_PATH,
    OPERATOR_PATH,
)
from rukpak.bundledeployment.cluster.rest_mapper import CRDS, NAMESPACES
from tests.cluster.proxy import run_as
from tests.cluster.refusing_proxy import RefusingProxy
from tests.cluster.rukpak.admission.conftest import Object, Place
from tests.cluster.rukpak.bundledeployment.deletion.test_finalize_policies import is_established
from tests.cluster.rukpak.harness import (
    CONFIG_MAPS,
    READY,
    config_map,
    definition,
    gone,
    kind_of,
    namespace,
    plain,
    thing,
)

ANNOTATION = "operators.operatorframework.io/deletion-protection"
DELETE = ("delete", "operators.operators.operatorframework.io")


MISSING = object()


def replaced(value: Any, place: Sequence[str | int], new: object) -> Any:
    """The JSON value with another one, or with none, at the place."""
    step: Any = place[0]
    rest = place[1:]
    changed: Any = list(value) if isinstance(value, list) else dict(value)
    if rest:
        changed[step] = replaced(value[step], rest, new)
    elif new is not MISSING:
        changed[step] = new
    elif isinstance(changed, list) or step in changed:
        del changed[step]
    return changed


def annotated(value: str | None) -> Object:
    return {"metadata": {"annotations": {ANNOTATION: value}}}


def labeled(value: str | None) -> Object:
    """The change that makes an Operator a dependency; None: that makes it none."""
    return {"metadata": {"labels": {INSTALLED_FOR_LABEL: value}}}


@dataclass
class Fleet:
    """A bundle with a CRD, installed by a BundleDeployment of an Operator, and two custom resources. Nothing is protected yet."""

    place: Place
    client: Client

    @property
    def name(self) -> str:
        return self.place.at.name

    async def protect(self, value: str | None = "true") -> None:
        """Annotate both, as operator-controller does."""
        for kind in (operators.KIND, bundledeployments.KIND):
            await self.client.patch(kind, self.name, annotated(value))

    async def remove_custom_resources(self) -> None:
        boat = kind_of(self.place.at.group)
        for name in ("a", "b"):
            await self.client.delete(boat, name, self.name)
            assert await self.place.at.when(boat, name, self.name, gone) is None

    def refusal(self, kind: str, webhook: str, plural: str) -> str:
        """What kubectl prints."""
        return (
            f'Error from server (Forbidden): admission webhook "{webhook}" denied the request: {kind} {self.name} is '
            f"protected: its deletion would delete 2 boats.{self.place.at.group}. Delete them first, or remove the "
            f"protection: kubectl annotate {plural} {self.name} {ANNOTATION}-"
        )

    @property
    def operator_refusal(self) -> str:
        plural = "operators.operators.operatorframework.io"
        return self.refusal("Operator", "voperators.operators.operatorframework.io", plural)


@pytest.fixture
async def fleet(place: Place) -> AsyncIterator[Fleet]:
    at = place.at
    async with place.rukpak() as client:
        await place.configure()
        await place.answers()
        body = {"apiVersion": operators.KIND.api_version, "kind": operators.KIND.kind, "metadata": {"name": at.name}}
        operator = await at.create(operators.KIND, {**body, "spec": {"packageName": "boats"}})
        deployment = at.body(at.push(plain(namespace(at.name), definition(at.group))))
        owner = controller_reference(operators.KIND, at.name, operator["metadata"]["uid"])
        deployment["metadata"]["ownerReferences"] = [owner]
        await client.apply(bundledeployments.KIND, deployment, "test")
        await at.until(READY)
        boat = kind_of(at.group)
        for name in ("a", "b"):
            await client.create(boat, thing(boat, name, at.name))
        try:
            yield Fleet(place, client)
        finally:
            for kind in (operators.KIND, bundledeployments.KIND):
                with contextlib.suppress(Exception):
                    await at.client.patch(kind, at.name, annotated(None))
                    await at.client.delete(kind, at.name)


@pytest.mark.parametrize(
    "way",
    [
        pytest.param(["delete", "operators.operators.operatorframework.io", "NAME"], id="kubectl delete"),
        pytest.param(
            ["delete", "operators.operators.operatorframework.io", "NAME", "--cascade=foreground"],
            id="in the foreground",
        ),
        pytest.param(
            ["delete", "operators.operators.operatorframework.io", "NAME", "--grace-period=0", "--force"], id="by force"
        ),
        pytest.param(["delete", "--raw=/apis/operators.operatorframework.io/v1alpha1/operators"], id="the collection"),
    ],
)
async def test_a_protected_operator_in_use_is_not_deleted(way: list[str], fleet: Fleet) -> None:
    await fleet.protect()
    printed = await fleet.place.kubectl(*(fleet.name if word == "NAME" else word for word in way))
    assert printed.endswith(fleet.operator_refusal)
    for kind in (operators.KIND, bundledeployments.KIND):
        assert "deletionTimestamp" not in (await fleet.client.get(kind, fleet.name))["metadata"]


async def test_operator_controller_does_not_remove_a_dependency_in_use_whatever_was_counted_before(
    fleet: Fleet,
) -> None:
    """A person deletes it nevertheless, and the same person as operator-controller does what was created otherwise."""
    account = ("--as=system:serviceaccount:olm-suite-system:operator-controller", "--as-group=system:masters")
    await fleet.client.patch(operators.KIND, fleet.name, labeled(""))
    printed = await fleet.place.kubectl(*DELETE, fleet.name, *account)
    assert printed.endswith(
        'admission webhook "voperators.operators.operatorframework.io" denied the request: Operator '
        f"{fleet.name} is kept: nothing requires it, but 2 boats.{fleet.place.at.group} exist"
    )
    assert "deletionTimestamp" not in (await fleet.client.get(operators.KIND, fleet.name))["metadata"]
    await fleet.client.patch(operators.KIND, fleet.name, labeled(None))
    printed = await fleet.place.kubectl(*DELETE, fleet.name, *account, "--dry-run=server")
    assert f'"{fleet.name}" deleted' in printed
    await fleet.client.patch(operators.KIND, fleet.name, labeled(""))
    printed = await fleet.place.kubectl(*DELETE, fleet.name, "--dry-run=server")
    assert f'"{fleet.name}" deleted' in printed
    await fleet.remove_custom_resources()
    printed = await fleet.place.kubectl(*DELETE, fleet.name, *account)
    assert f'"{fleet.name}" deleted' in printed
    await fleet.place.at.until(gone)


async def test_a_protected_operator_with_the_longest_annotations_is_not_deleted(fleet: Fleet) -> None:
    await fleet.client.patch(
        operators.KIND, fleet.name, {"metadata": {"annotations": {"example.com/a": "x" * 250_000}}}
    )
    await fleet.protect()
    assert (await fleet.place.kubectl(*DELETE, fleet.name)).endswith(fleet.operator_refusal)
    await fleet.protect(None)
    await fleet.client.delete(operators.KIND, fleet.name)
    await fleet.place.at.until(gone)


PATHS = (BUNDLE_PATH, BUNDLE_DEPLOYMENT_PATH, CONFIG_MAP_PATH, OPERATOR_PATH, DEFINITION_PATH, NAMESPACE_PATH)
WRONG: tuple[Any, ...] = (MISSING, None, True, 7, "x", [], [7], {}, {"a": 7})


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(3, id="each place has a third of the wrong values"),
        pytest.param(1, id="each place has all wrong values", marks=pytest.mark.hostile),
    ],
)
async def test_a_forged_review_is_answered_and_never_an_unexpected_error(
    fleet: Fleet, caplog: pytest.LogCaptureFixture, step: int
) -> None:
    """Anyone in the cluster reaches the port. Wrong types stand in each place that a webhook reads."""
    await fleet.protect()
    uid = (await fleet.client.get(bundledeployments.KIND, fleet.name))["metadata"]["uid"]
    labels = {INSTALLED_FOR_LABEL: "", OWNER_UID_LABEL: uid, f"{MEMBER_LABEL_PREFIX}{uid}": "true"}
    entry: Object = {"manager": f"rukpak:{fleet.name}", "operation": "Apply", "time": "2026-01-01T12:00:00Z"}
    entry["fieldsV1"] = {"f:metadata": {"f:labels": {f"f:{OWNER_UID_LABEL}": {}}}}
    metadata = {
        "name": "a",
        "uid": "u",
        "annotations": {ANNOTATION: "true"},
        "labels": labels,
        "managedFields": [entry],
    }
    metadata["creationTimestamp"] = "2026-01-02T12:00:00Z"
    owner = {"kind": "Operator", "name": "a", "uid": "u", "controller": True, "apiVersion": "v1"}
    spec = {"install": {"deletionPolicy": "Cascade"}, "deletionPolicy": "Cascade", "source": {"type": "image"}}
    old = {"metadata": {**metadata, "ownerReferences": [owner]}, "spec": spec}
    places = [
        ("metadata",), ("metadata", "name"), ("metadata", "uid"), ("metadata", "annotations"), ("metadata", "ownerReferences"),
        ("metadata", "annotations", ANNOTATION), ("metadata", "labels"), ("metadata", "managedFields"), ("spec",),
        ("spec", "install"), ("spec", "install", "deletionPolicy"),
        ("spec", "deletionPolicy"), ("spec", "source"), ("metadata", "deletionTimestamp"), ("metadata", "finalizers"),
        *(("metadata", "ownerReferences", 0, name) for name in owner), ("metadata", "ownerReferences", 0),
        *(("metadata", "managedFields", 0, name) for name in entry), ("metadata", "managedFields", 0),
        ("metadata", "managedFields", 0, "fieldsV1", "f:metadata"), ("metadata", "creationTimestamp"),
    ]  # fmt: skip
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    options = ({"options": {"propagationPolicy": 7}}, {"userInfo": {"username": 7}})
    requests: list[Object] = [
        {"oldObject": old, **more}
        for more in (*options, *({name: wrong} for name in ("options", "userInfo") for wrong in WRONG[1:]))
    ]
    for number, place in enumerate(places):
        for wrong in WRONG[number % step :: step]:
            forged = {"oldObject": replaced(old, place, wrong)}
            requests += [forged, {**forged, "options": {"orphanDependents": True}}]
            requests += [{"object": forged["oldObject"]}, {"object": forged["oldObject"], "oldObject": old}]
    statuses = set()
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls)) as session:
        for path in PATHS:
            for request in requests:
                body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
                review = {**body, "request": {"uid": "u", **request}}
                async with session.post(f"https://{fleet.place.address}{path}", json=review) as answer:
                    statuses.add(answer.status)
    assert statuses == {200, 400}
    assert [record for record in caplog.records if record.exc_info] == []


async def test_its_bundle_deployment_is_not_deleted_either(fleet: Fleet) -> None:
    await fleet.protect()
    printed = await fleet.place.kubectl("delete", "bundledeployment", fleet.name)
    plural = "operators.operators.operatorframework.io"  # whose annotation decides
    assert printed.endswith(fleet.refusal("Operator", "vbundledeployments.core.rukpak.io", plural))


def raw_deletion(name: str, **options: Any) -> tuple[list[str], Object]:
    """The arguments and the body of a request that kubectl does not make any more, or not by default."""
    path = f"--raw={bundledeployments.KIND.path(None, name)}"
    return ["delete", path, "--filename=-"], {"kind": "DeleteOptions", "apiVersion": "v1", **options}


async def test_a_bundle_deployment_is_not_deleted_without_its_dependents_because_nothing_would_stay(
    fleet: Fleet,
) -> None:
    """Whether it is protected or not, of an Operator or not, and in whatever words the request says so."""
    at, kind = fleet.place.at, "bundledeployments.core.rukpak.io"
    denied = 'admission webhook "vbundledeployments.core.rukpak.io" denied the request: BundleDeployment'
    why = (
        "is not deleted with propagationPolicy Orphan (--cascade=orphan), which keeps nothing of what it has installed: its "
        "deletionPolicy, {}, decides. To keep everything, "
    )
    of_operator = (
        f"{denied} {fleet.name} {why.format('Cascade')}delete its Operator that way, which leaves the BundleDeployment: kubectl "
        f"delete operators.operators.operatorframework.io {fleet.name} --cascade=orphan"
    )
    for value in (None, "true"):
        await fleet.protect(value)
        assert (await fleet.place.kubectl("delete", kind, fleet.name, "--cascade=orphan")).endswith(of_operator)
    await fleet.protect(None)

    other = f"{at.name}-b"
    body = at.body(at.push(plain(config_map("log", at.name)), "b"), other)
    for policy, finalizers in (("KeepCRDs", []), ("Cascade", ["orphan"])):
        metadata = {"name": other, "finalizers": finalizers}
        await fleet.client.apply(
            bundledeployments.KIND,
            {**body, "metadata": metadata, "spec": {**body["spec"], "deletionPolicy": policy}},
            "test",
        )
        await at.until(READY, other)
        alone = (
            f"{denied} {other} {why.format(policy)}set it to Orphan first: kubectl patch {kind} {other} --type=merge "
            """--patch='{"spec":{"deletionPolicy":"Orphan"}}'"""
        )
        assert (await fleet.place.kubectl("delete", kind, other, "--cascade=orphan")).endswith(alone)
        requests: list[Object] = [{"orphanDependents": True}, {"propagationPolicy": "Orphan"}, {}]
        for options in requests if finalizers else requests[:-1]:
            arguments, request = raw_deletion(other, **options)
            assert (await fleet.place.kubectl(*arguments, body=request)).endswith(alone), options
    assert await at.find(CONFIG_MAPS, "log", at.name) is not None

    held = {"metadata": {"annotations": {DELETION_HOLD_ANNOTATION: "a test"}}}
    await fleet.client.patch(bundledeployments.KIND, other, held)
    await fleet.client.delete(bundledeployments.KIND, other)  # in the background, as the garbage collector does
    printed = await fleet.place.kubectl("delete", kind, other, "--cascade=orphan")
    assert printed.endswith(alone), "the deletion that has begun is none of this kind"
    await fleet.client.patch(bundledeployments.KIND, other, {"spec": {"deletionPolicy": "Orphan"}})
    await fleet.place.kubectl("delete", kind, other, "--cascade=orphan", "--wait=false")
    await fleet.client.patch(
        bundledeployments.KIND, other, {"metadata": {"annotations": {DELETION_HOLD_ANNOTATION: None}}}
    )
    await at.until(gone, other)
    assert await at.find(CONFIG_MAPS, "log", at.name) is not None


async def test_a_protected_operator_is_deleted_without_its_dependents_because_everything_stays(fleet: Fleet) -> None:
    await fleet.protect()
    printed = await fleet.place.kubectl(*DELETE, fleet.name, "--cascade=orphan")
    assert printed == f'operator.operators.operatorframework.io "{fleet.name}" deleted\n'
    left = await fleet.place.at.until(lambda raw: raw is not None and not raw["metadata"].get("ownerReferences"))
    assert "deletionTimestamp" not in left["metadata"]
    printed = await fleet.place.kubectl("delete", "bundledeployment", fleet.name)
    plural = "bundledeployments.core.rukpak.io"  # it is protected by its own annotation now
    assert printed.endswith(fleet.refusal("BundleDeployment", "vbundledeployments.core.rukpak.io", plural))


async def test_without_custom_resources_it_is_deleted(fleet: Fleet) -> None:
    await fleet.protect()
    await fleet.remove_custom_resources()
    await fleet.client.delete(operators.KIND, fleet.name)
    assert await fleet.place.at.find(operators.KIND, fleet.name) is None
    await fleet.place.at.until(gone)  # the garbage collector deletes it, although it is protected


async def test_custom_resources_count_with_the_labels_of_a_bundle_and_those_of_other_bundles_too(fleet: Fleet) -> None:
    at, boat = fleet.place.at, kind_of(fleet.place.at.group)
    other = await at.install(at.push(plain(thing(boat, "brought", at.name)), "b"), f"{at.name}-b")
    await at.until(READY, other)
    await fleet.remove_custom_resources()
    uid = (await fleet.client.get(bundledeployments.KIND, fleet.name))["metadata"]["uid"]
    await fleet.client.create(boat, thing(boat, "copy", at.name, labels={bundledeployments.OWNER_UID_LABEL: uid}))
    await fleet.protect()
    assert (await fleet.place.kubectl(*DELETE, fleet.name)).endswith(fleet.operator_refusal)
    await at.remove(other)
    await at.until(gone, other)
    await fleet.client.delete(boat, "copy", at.name)
    await fleet.client.delete(operators.KIND, fleet.name)
    await at.until(gone)


async def test_a_deletion_that_keeps_custom_resources_is_not_refused(fleet: Fleet) -> None:
    await fleet.protect()
    await fleet.client.patch(operators.KIND, fleet.name, {"spec": {"install": {"deletionPolicy": "KeepCRDs"}}})
    assert (await fleet.place.kubectl(*DELETE, fleet.name)).endswith(fleet.operator_refusal), "it is not handed on yet"
    await fleet.client.patch(bundledeployments.KIND, fleet.name, {"spec": {"deletionPolicy": "KeepCRDs"}})
    await fleet.place.at.until(lambda raw: READY(raw) and (raw or {})["spec"].get("deletionPolicy") == "KeepCRDs")
    await fleet.client.delete(operators.KIND, fleet.name)
    await fleet.place.at.until(gone)
    assert await fleet.place.at.find(kind_of(fleet.place.at.group), "a", fleet.name) is not None


async def test_the_policy_of_the_operator_counts_that_its_bundle_deployment_gets_when_it_is_deleted(
    fleet: Fleet,
) -> None:
    """That of a paused Operator is handed on only then."""
    await fleet.protect()
    await fleet.client.patch(bundledeployments.KIND, fleet.name, {"spec": {"deletionPolicy": "KeepCRDs"}})
    await fleet.place.at.until(lambda raw: READY(raw) and (raw or {})["spec"].get("deletionPolicy") == "KeepCRDs")
    assert (await fleet.place.kubectl(*DELETE, fleet.name)).endswith(fleet.operator_refusal)


async def test_without_the_annotation_it_is_deleted(fleet: Fleet) -> None:
    """operator-controller removes the annotation of the BundleDeployment a moment later: that of the Operator counts."""
    await fleet.protect()
    await fleet.client.patch(operators.KIND, fleet.name, annotated(None))
    await fleet.client.delete(operators.KIND, fleet.name)
    await fleet.place.at.until(gone)


async def test_its_definitions_and_namespaces_are_not_deleted_while_they_hold_custom_resources(fleet: Fleet) -> None:
    """Also if nothing shows any more who applied them; what somebody else has given the label is none of them."""
    at, crd = fleet.place.at, f"boats.{fleet.place.at.group}"
    copied = definition(f"copy.{at.group}")
    uid = (await at.client.get(bundledeployments.KIND, fleet.name))["metadata"]["uid"]
    copied["metadata"]["labels"] = {OWNER_UID_LABEL: uid}
    await at.create(CRDS, copied)
    await at.when(CRDS, copied["metadata"]["name"], "", is_established)
    boat = kind_of(f"copy.{at.group}")
    await fleet.client.create(boat, thing(boat, "a", at.name))
    await fleet.protect()
    refused = {}
    for kind, name, webhook in (
        ("CustomResourceDefinition", crd, "vdefinitions.core.rukpak.io"),
        ("Namespace", fleet.name, "vnamespaces.core.rukpak.io"),
    ):
        refused[kind.lower(), name] = (
            f'admission webhook "{webhook}" denied the request: {kind} {name} of Operator {fleet.name} is protected: its '
            f"deletion would delete 2 {crd}. Delete them first, or remove the protection: kubectl annotate "
            f"operators.operators.operatorframework.io {fleet.name} {ANNOTATION}-"
        )
    for part, text in refused.items():
        for way in ([], ["--cascade=foreground"], ["--grace-period=0", "--force"]):
            assert (await fleet.place.kubectl("delete", *part, *way)).endswith(text)
    for kind, name in refused:
        for _ in range(2):  # rukpak may apply it again after the first time
            await fleet.place.kubectl("patch", kind, name, "--type=merge", "-p", '{"metadata":{"managedFields":[{}]}}')
            for part, text in refused.items():
                assert (await fleet.place.kubectl("delete", *part)).endswith(text)
            assert (await fleet.place.kubectl(*DELETE, fleet.name)).endswith(fleet.operator_refusal)
    await at.client.delete(CRDS, copied["metadata"]["name"])  # it has a label alone

    await fleet.remove_custom_resources()
    before = (await at.client.get(CRDS, crd))["metadata"]["uid"]
    await at.client.delete(CRDS, crd)
    await at.when(CRDS, crd, "", lambda raw: raw is not None and raw["metadata"]["uid"] != before)
    await fleet.client.delete(operators.KIND, fleet.name)
    await at.until(gone)  # rukpak deletes both, although they are guarded


async def test_a_replica_that_cannot_read_bundle_deployments_denies_what_is_protected(
    place: Place, tmp_path: Path
) -> None:
    """It waits for the lease, and its informer has not seen what was installed meanwhile. What nobody protects is deleted."""
    at, crd = place.at, f"boats.{place.at.group}"
    elected: dict[str, Any] = {"leader_elect": True}
    behind, boat = free_address(), kind_of(at.group)
    deletions = (["customresourcedefinition", crd], ["namespace", at.name])
    async with (
        run_as(RefusingProxy, at.cluster.kubeconfig, tmp_path) as between,
        place.rukpak(**elected) as client,
    ):
        await place.configure()
        await place.answers()
        async with place.rukpak("b", behind, kubeconfig=str(between.kubeconfig), **elected):
            between.refuse(r"bundledeployments\?")
            await between.until_refused(1)
            await client.apply(
                bundledeployments.KIND, at.body(at.push(plain(namespace(at.name), definition(at.group)))), "test"
            )
            await at.until(READY)
            await client.create(boat, thing(boat, "a", at.name))
            await client.patch(bundledeployments.KIND, at.name, annotated("true"))
            await replace(place, address=behind).configure()
            await replace(place, address=behind).answers()
            for arguments in deletions:
                printed = await place.kubectl("delete", *arguments)
                assert "is protected, and its custom resources cannot be counted now: try again" in printed
            assert await at.find(boat, "a", at.name) is not None
            await client.patch(bundledeployments.KIND, at.name, annotated(None))
            for arguments in deletions:
                assert "deleted" in await place.kubectl("delete", *arguments, "--wait=false")


async def test_without_rukpak_only_what_is_protected_stays(place: Place) -> None:
    """Removing the annotation does not need rukpak either."""
    client = place.at.client
    async with place.rukpak():
        await place.configure()
        await place.answers()
    for suffix, value in (("-b", "false"), ("-a", "true")):
        name = f"{place.at.name}{suffix}"
        body: Object = {
            "apiVersion": operators.KIND.api_version,
            "kind": operators.KIND.kind,
            "metadata": {"name": name},
        }
        body["metadata"]["annotations"] = {ANNOTATION: value}
        await place.at.create(operators.KIND, {**body, "spec": {"packageName": "boats"}})
    await client.delete(operators.KIND, f"{place.at.name}-b")
    crd, inside = definition(place.at.group), namespace(place.at.name)
    crd["metadata"]["labels"] = {OWNER_UID_LABEL: "some-uid"}
    inside["metadata"]["labels"] = {f"{MEMBER_LABEL_PREFIX}some-uid": "true"}
    for kind, part in ((CRDS, crd), (NAMESPACES, inside)):
        await place.at.create(kind, part)
        await client.delete(kind, part["metadata"]["name"])
    with pytest.raises((Unavailable, Forbidden), match=r"failed calling webhook .*voperators"):
        await client.delete(operators.KIND, f"{place.at.name}-a")
    await client.apply(bundledeployments.KIND, place.at.body("registry.example.com/ship:v1"), "test")
    printed = await place.kubectl("delete", "bundledeployment", place.at.name, "--cascade=orphan")
    assert 'failed calling webhook "vbundledeployments.core.rukpak.io"' in printed
    await place.kubectl("delete", "bundledeployment", place.at.name, "--cascade=foreground")
    assert await place.at.find(bundledeployments.KIND, place.at.name) is None
    await place.kubectl(*DELETE, f"{place.at.name}-a", "--cascade=orphan")
    assert await place.at.find(operators.KIND, f"{place.at.name}-a") is None
    await place.at.create(operators.KIND, {**body, "spec": {"packageName": "boats"}})
    await client.patch(operators.KIND, f"{place.at.name}-a", annotated(None))
    await client.delete(operators.KIND, f"{place.at.name}-a")


async def test_many_deletions_at_once_are_all_refused(fleet: Fleet) -> None:
    """They share a few requests to the API server. What is not counted in time counts as used.

    Each kubectl takes a thread of this process, of which rukpak needs one.
    """
    await fleet.protect()
    printed = await asyncio.gather(*(fleet.place.kubectl(*DELETE, fleet.name) for _ in range(4)))
    assert [each for each in printed if f"denied the request: Operator {fleet.name} is protected: " not in each] == []
