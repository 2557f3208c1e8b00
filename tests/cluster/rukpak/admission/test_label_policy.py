"""The labels of rukpak on Namespaces and CustomResourceDefinitions are written by rukpak and by Kubernetes alone."""

from __future__ import annotations

import asyncio
import json

from olmkit.admission.ca_bundle import WEBHOOK_CONFIGURATIONS
from olmkit.api.label_policy import BINDINGS, POLICIES, POLICY
from rukpak.admission.probe import CONFIGURATION
from rukpak.bundledeployment.cluster.namespace_info import member_label
from rukpak.bundledeployment.cluster.rest_mapper import CRDS, NAMESPACES
from tests.cluster.rukpak.admission.conftest import Object, Place
from tests.cluster.rukpak.harness import OWNER, config_map, definition, gone, namespace

MEMBER = member_label("0f9c2f30-8f67-4b5b-9d3e-0c1c0f6b5a11")
SOMEBODY = ("--as=jane", "--as-group=system:masters")
KUBERNETES = (
    "--as=system:serviceaccount:kube-system:job-controller",
    "--as-group=system:serviceaccounts:kube-system",
    "--as-group=system:masters",
)
DENIED = "rukpak alone writes this label, which says what it deletes"


async def labelled(place: Place, kind: str, name: str, labels: Object, *user: str) -> str:
    """What kubectl prints when a user merges labels into an object."""
    patch = json.dumps({"metadata": {"labels": labels}})
    return await place.kubectl("patch", kind, name, "--type=merge", "-p", patch, *user)


async def is_denied(place: Place) -> None:
    """Return when the API server evaluates the policy: no event says that it has read it."""
    async with asyncio.timeout(60):
        while True:
            dry_run = await labelled(place, "namespace", place.at.name, {OWNER: "x"}, "--dry-run=server", *SOMEBODY)
            if DENIED in dry_run:
                return
            await asyncio.sleep(0.2)


async def test_others_cannot_change_the_labels_and_may_write_everything_else(place: Place) -> None:
    at = place.at
    await at.create(NAMESPACES, namespace(at.name, **{MEMBER: "true"}))
    await at.create(CRDS, definition(at.group))
    crd = f"boats.{at.group}"
    async with place.rukpak():
        await place.configure()
        await at.when(BINDINGS, f"{POLICY}-deny", "", lambda found: found is not None)
        await is_denied(place)
        for kind, name, labels in (
            ("namespace", at.name, {OWNER: "u"}),
            ("namespace", at.name, {"core.rukpak.io/created": "true"}),
            ("namespace", at.name, {MEMBER: None}),
            ("namespace", at.name, {MEMBER: "false"}),
            ("customresourcedefinition", crd, {OWNER: "u"}),
        ):
            printed = await labelled(place, kind, name, labels, *SOMEBODY)
            assert DENIED in printed, (kind, labels)
            assert "(Forbidden)" in printed or "forbidden" in printed
        printed = await place.kubectl(
            "patch",
            "namespace",
            at.name,
            "--subresource=status",
            "--type=merge",
            "-p",
            json.dumps({"metadata": {"labels": {MEMBER: None}}}),
            *SOMEBODY,
        )
        assert DENIED in printed

        for kind, name in (("namespace", at.name), ("customresourcedefinition", crd)):
            assert "patched" in await labelled(place, kind, name, {"team": "red", "x.core.rukpak.io/a": "b"}, *SOMEBODY)
            assert "annotated" in await place.kubectl("annotate", kind, name, "core.rukpak.io/keep=true", *SOMEBODY)
            # Replaced by what is there, with the labels as they are.
            body = await at.client.get(NAMESPACES if kind == "namespace" else CRDS, name)
            assert "replaced" in await place.kubectl("replace", "--filename=-", *SOMEBODY, body=body)
        for user in (KUBERNETES, ()):  # without: rukpak's own user
            assert "patched" in await labelled(place, "namespace", at.name, {MEMBER: None}, *user)
            assert "patched" in await labelled(place, "namespace", at.name, {MEMBER: "true"}, *user)
        copied = config_map("copy", at.name)
        copied["metadata"]["labels"] = {OWNER: "u"}
        assert "Warning" not in await place.kubectl("create", "--filename=-", *SOMEBODY, body=copied)
        restored = namespace(f"{at.name}-restored", **{MEMBER: "true"})
        assert "created" in await place.kubectl("create", "--filename=-", *SOMEBODY, body=restored)
        assert "deleted" in await place.kubectl("delete", "namespace", restored["metadata"]["name"], *SOMEBODY)
        assert "deleted" in await place.kubectl("delete", "customresourcedefinition", crd, *SOMEBODY)


async def test_the_policy_comes_back_and_goes_with_the_configuration_of_the_webhooks(place: Place) -> None:
    at = place.at
    async with place.rukpak():
        await place.configure()
        for kind, name in ((POLICIES, POLICY), (BINDINGS, f"{POLICY}-deny"), (BINDINGS, f"{POLICY}-warn")):
            found = await at.when(kind, name, "", lambda found: found is not None)
            uid = (found or {})["metadata"]["uid"]
            await at.client.delete(kind, name)
            await at.when(kind, name, "", lambda found, uid=uid: found is not None and found["metadata"]["uid"] != uid)  # type: ignore[misc]
        await at.client.patch(POLICIES, POLICY, {"spec": {"validations": [{"expression": "true"}]}})
        await at.when(POLICIES, POLICY, "", lambda found: DENIED in json.dumps(found or {}))
        policy = await at.client.get(POLICIES, POLICY)
        assert not (policy["status"].get("typeChecking") or {}).get("expressionWarnings")
        await at.client.delete(WEBHOOK_CONFIGURATIONS, CONFIGURATION)
        for kind, name in ((POLICIES, POLICY), (BINDINGS, f"{POLICY}-deny"), (BINDINGS, f"{POLICY}-warn")):
            await at.when(kind, name, "", gone)
