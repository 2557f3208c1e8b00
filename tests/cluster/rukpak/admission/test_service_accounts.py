"""Who may write a ServiceAccount into an Operator or a BundleDeployment, on the real API server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from multidict import CIMultiDict

from olmkit.api import bundledeployments, clusterextensions, operators
from olmkit.api.clusterextensions import ADOPT_FOR_ANNOTATION, SERVICE_ACCOUNT_ANNOTATION
from olmkit.api.impersonation import EXTRA_KEY, EXTRA_VALUE, Account
from olmkit.api.meta import Kind, controller_reference
from olmkit.api.operators import INSTALLED_FOR_LABEL
from olmkit.errors import ApiError, Forbidden, Invalid
from olmkit.runtime.client import Client
from rukpak.bundledeployment.cluster.namespace_info import member_label
from rukpak.bundledeployment.cluster.rest_mapper import NAMESPACES
from tests.cluster.rukpak.admission.conftest import Place
from tests.cluster.rukpak.harness import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, cluster_role, namespace
from tests.cluster.rukpak.tenants import ROLE_BINDINGS, ROLES

Object = dict[str, Any]
REFUSED = "may not impersonate ServiceAccount"
GROUPS = ["core.rukpak.io", "operators.operatorframework.io", "olm.operatorframework.io"]


class Court:
    """Users who may write our kinds, and of whom some may impersonate accounts of a namespace."""

    def __init__(self, place: Place, admin: Client) -> None:
        self.place, self.admin, self.name = place, admin, place.at.name

    async def prepare(self) -> None:
        at = self.place.at
        await at.create(NAMESPACES, namespace(self.name))
        rules = [
            {"apiGroups": GROUPS, "resources": ["*"], "verbs": ["*"]},
            {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["*"]},
        ]
        await at.create(CLUSTER_ROLES, cluster_role(self.name, rules=rules))
        users = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated"}]
        await at.create(CLUSTER_ROLE_BINDINGS, self._binding(CLUSTER_ROLE_BINDINGS, self.name, "ClusterRole", users))
        for account, subject in (("blue", self._user("Group", "blue-team")), ("red", self._user("User", "rita"))):
            rule = {
                "apiGroups": [""],
                "resources": ["serviceaccounts"],
                "resourceNames": [account],
                "verbs": ["impersonate"],
            }
            metadata = {"name": account, "namespace": self.name}
            role = {"apiVersion": ROLES.api_version, "kind": "Role", "metadata": metadata, "rules": [rule]}
            await at.create(ROLES, role)
            await at.create(ROLE_BINDINGS, self._binding(ROLE_BINDINGS, account, "Role", [subject]))

    def _user(self, kind: str, name: str) -> Object:
        return {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}

    def _binding(self, kind: Kind, name: str, role: str, subjects: list[Object]) -> Object:
        metadata = {"name": name, **({"namespace": self.name} if kind.namespaced else {})}
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": name}
        head = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
        return {**head, "subjects": subjects, "roleRef": reference}

    def user(self, name: str, *groups: str) -> Client:
        """A client of a user; of this test, its name names the accounts that it may impersonate."""
        headers = [("Impersonate-User", name), *(("Impersonate-Group", group) for group in groups)]
        return self.admin.acting_as(CIMultiDict(headers))

    @property
    def controller(self) -> Client:
        """operator-controller."""
        return self.user(Account(self.place.system, "operator-controller").user)

    def deployment(self, account: str = "", **spec: Any) -> Object:
        body = self.place.at.body("registry.example.com/ship:v1")
        body["spec"] |= {"installNamespace": self.name, **spec}
        if account:
            body["spec"]["serviceAccount"] = {"name": account}
        return body

    def operator(self, account: str = "", suffix: str = "", **labels: str) -> Object:
        install = {"install": {"namespace": self.name, **({"serviceAccount": {"name": account}} if account else {})}}
        metadata = {"name": f"{self.name}{suffix}", "labels": labels}
        head = {"apiVersion": operators.KIND.api_version, "kind": operators.KIND.kind, "metadata": metadata}
        return {**head, "spec": {"packageName": "ship", **install}}

    def extension(self, account: str = "") -> Object:
        kind, catalog = clusterextensions.KIND, {"packageName": "ship"}
        annotations = {SERVICE_ACCOUNT_ANNOTATION: account} if account else {}
        head = {"apiVersion": kind.api_version, "kind": kind.kind}
        spec = {"namespace": self.name, "source": {"sourceType": "Catalog", "catalog": catalog}}
        return {**head, "metadata": {"name": self.name, "annotations": annotations}, "spec": spec}

    def owned(self, body: Object, extension: Object) -> Object:
        """The Operator, or its patch, with the ClusterExtension as its controller."""
        owner = controller_reference(clusterextensions.KIND, self.name, extension["metadata"]["uid"])
        return {**body, "metadata": {**body.get("metadata", {}), "ownerReferences": [owner]}}

    async def create(self, user: Client, kind: Kind, body: Object) -> Object:
        self.place.at._made.append((kind, body["metadata"]["name"], ""))
        return await user.create(kind, body)

    async def patch(self, user: Client, kind: Kind, spec: Object) -> None:
        await user.patch(kind, self.name, {"spec": spec})


@pytest.fixture
async def court(place: Place) -> AsyncIterator[Court]:
    async with place.rukpak() as client:
        await place.configure()
        made = Court(place, client)
        await made.prepare()
        await place.answers()
        yield made


async def until_permitted(user: Client, body: Object, kind: Kind) -> None:
    """Return when the API server has read the roles of a test."""
    async with asyncio.timeout(30):
        while True:
            with contextlib.suppress(Forbidden):
                await user.request("POST", kind.path(), query={"dryRun": "All"}, body=body)
                return
            await asyncio.sleep(0.1)


async def refused(work: Any) -> str:
    with pytest.raises(Forbidden) as caught:
        await work
    return str(caught.value.message)


async def test_an_author_may_name_the_accounts_that_he_may_impersonate(court: Court) -> None:
    blue, rita = court.user("bob", "blue-team", "system:authenticated"), court.user("rita", "system:authenticated")
    kind = bundledeployments.KIND
    await until_permitted(blue, court.deployment("blue"), kind)
    text = await refused(blue.create(kind, court.deployment("red")))
    assert f"bob {REFUSED} {court.name}/red" in text
    assert "vserviceaccounts.core.rukpak.io" in text
    await court.create(blue, kind, court.deployment("blue"))

    # Neither may give it to the other, remove the account, or run something else as it.
    for user, spec in (
        (blue, {"serviceAccount": {"name": "red"}}),
        (rita, {"serviceAccount": {"name": "red"}}),
        (rita, {"serviceAccount": None}),
        (rita, {"deletionPolicy": "Orphan"}),
        (rita, {"template": {"spec": {"source": {"image": {"ref": "registry.example.com/evil:v1"}}}}}),
        (blue, {"installNamespace": "elsewhere"}),
        (blue, {"serviceAccount": {"namespace": "kube-system"}}),
    ):
        assert REFUSED in await refused(court.patch(user, kind, spec)), spec
    await court.patch(blue, kind, {"deletionPolicy": "Orphan"})
    await rita.patch(kind, court.name, {"metadata": {"annotations": {"note": "no part of the spec"}}})
    both = court.user("boss", "system:masters")
    await court.patch(both, kind, {"serviceAccount": {"name": "red"}})
    assert REFUSED in await refused(court.patch(blue, kind, {"serviceAccount": {"name": "blue"}}))
    await court.patch(rita, kind, {"serviceAccount": None})
    await court.patch(blue, kind, {"deletionPolicy": None})


async def test_the_same_holds_for_an_operator(court: Court) -> None:
    blue, rita = court.user("bob", "blue-team", "system:authenticated"), court.user("rita", "system:authenticated")
    kind = operators.KIND
    await until_permitted(blue, court.operator("blue"), kind)
    assert "vserviceaccounts.operators.operatorframework.io" in await refused(rita.create(kind, court.operator("blue")))
    await court.create(blue, kind, court.operator("blue"))
    for user, spec in (
        (rita, {"packageName": "evil"}),
        (rita, {"install": {"serviceAccount": None}}),
        (rita, {"install": None}),
        (blue, {"install": {"serviceAccount": {"name": "red"}}}),
        (blue, {"install": {"namespace": "elsewhere"}}),
    ):
        assert REFUSED in await refused(court.patch(user, kind, spec)), spec
    await court.patch(blue, kind, {"channel": "stable"})
    await court.patch(blue, kind, {"install": None})
    await court.patch(rita, kind, {"packageName": "other"})


async def test_operator_controller_copies_the_account_of_the_operator_and_no_other(court: Court) -> None:
    blue, kind = court.user("bob", "blue-team", "system:authenticated"), bundledeployments.KIND
    await until_permitted(blue, court.operator("blue"), operators.KIND)
    operator = await court.create(blue, operators.KIND, court.operator("blue"))
    owned = court.deployment("blue")
    owned["metadata"]["ownerReferences"] = [
        controller_reference(operators.KIND, court.name, operator["metadata"]["uid"])
    ]
    stolen = court.deployment("red")
    stolen["metadata"]["ownerReferences"] = owned["metadata"]["ownerReferences"]
    former = court.deployment("blue")
    former["metadata"]["ownerReferences"] = [controller_reference(operators.KIND, court.name, "another")]
    for body in (court.deployment("blue"), stolen, former):
        assert "no Operator that owns" in await refused(court.controller.create(kind, body))
    assert REFUSED in await refused(court.user("rita", "system:authenticated").create(kind, owned))
    await court.create(court.controller, kind, owned)
    assert "no Operator" in await refused(court.patch(court.controller, kind, {"serviceAccount": None}))
    await court.patch(blue, operators.KIND, {"install": {"serviceAccount": None}})
    assert "no Operator" in await refused(court.patch(court.controller, kind, {"deletionPolicy": "Orphan"}))
    await court.patch(court.controller, kind, {"serviceAccount": None})


async def test_operator_controller_creates_dependencies_with_the_account_of_an_operator(court: Court) -> None:
    blue, kind = court.user("bob", "blue-team", "system:authenticated"), operators.KIND
    dependency = court.operator("blue", "-dependency", **{INSTALLED_FOR_LABEL: ""})
    await until_permitted(blue, court.operator("blue"), kind)
    assert "no other Operator" in await refused(court.controller.create(kind, dependency))
    await court.create(blue, kind, court.operator("blue"))
    assert "no other Operator" in await refused(court.controller.create(kind, court.operator("blue", "-mine")))
    red = court.operator("red", "-dependency", **{INSTALLED_FOR_LABEL: ""})
    assert "no other Operator" in await refused(court.controller.create(kind, red))
    await court.create(court.controller, kind, dependency)
    change = {"spec": {"channel": "stable"}}
    text = await refused(court.controller.patch(kind, dependency["metadata"]["name"], change))
    assert "no other Operator" in text


async def test_the_account_of_a_clusterextension_is_named_by_who_may_impersonate_it(court: Court) -> None:
    blue, rita = court.user("bob", "blue-team", "system:authenticated"), court.user("rita", "system:authenticated")
    kind = clusterextensions.KIND
    await until_permitted(blue, court.extension("blue"), kind)
    for account in ("red", f"{court.name}/red", "kube-system/blue"):
        text = await refused(blue.create(kind, court.extension(account)))
        assert "vserviceaccounts.olm.operatorframework.io" in text, account
        assert f"bob {REFUSED} {account if '/' in account else f'{court.name}/red'}," in text
    await court.create(rita, kind, court.extension("a/b/c"))  # names no account, so that nothing is installed

    def named(account: str | None) -> Object:
        return {"metadata": {"annotations": {SERVICE_ACCOUNT_ANNOTATION: account}}}

    assert REFUSED in await refused(rita.patch(kind, court.name, named(f"{court.name}/blue")))
    await blue.patch(kind, court.name, named(f"{court.name}/blue"))
    other_version = {"spec": {"source": {"catalog": {"version": "6.6.6"}}}}
    for user, change in (
        (rita, named(None)),
        (rita, named("red")),
        (rita, named("a/b/c")),
        (rita, {"metadata": {"annotations": None}}),
        (rita, other_version),
        (blue, named("red")),
    ):
        assert REFUSED in await refused(user.patch(kind, court.name, change)), change
    await rita.patch(kind, court.name, {"metadata": {"annotations": {"note": "is not used"}}})
    await blue.patch(kind, court.name, other_version)
    await blue.patch(kind, court.name, named(None))
    await rita.patch(kind, court.name, {"spec": {"source": {"catalog": {"version": None}}}})


async def test_operator_controller_copies_the_account_of_the_clusterextension_and_no_other(court: Court) -> None:
    blue, rita = court.user("bob", "blue-team", "system:authenticated"), court.user("rita", "system:authenticated")
    kind, controller = operators.KIND, court.controller
    await until_permitted(blue, court.extension("blue"), clusterextensions.KIND)
    extension = await court.create(blue, clusterextensions.KIND, court.extension("blue"))
    former = {"metadata": {"uid": "another"}}
    for body in (court.owned(court.operator("red"), extension), court.owned(court.operator("blue"), former)):
        assert "no ClusterExtension that owns" in await refused(controller.create(kind, body))
    assert "no other Operator" in await refused(controller.create(kind, court.operator("blue")))
    assert REFUSED in await refused(rita.create(kind, court.owned(court.operator("blue"), extension)))
    await court.create(controller, kind, court.owned(court.operator("blue"), extension))

    # What was copied is no longer used when the annotation is gone, and is removed.
    await blue.patch(
        clusterextensions.KIND, court.name, {"metadata": {"annotations": {SERVICE_ACCOUNT_ANNOTATION: None}}}
    )
    assert "no ClusterExtension" in await refused(court.patch(controller, kind, {"channel": "stable"}))
    await court.patch(controller, kind, {"install": {"serviceAccount": None}})


async def test_nobody_gives_an_operator_with_an_account_to_a_clusterextension_without_it(court: Court) -> None:
    blue, rita = court.user("bob", "blue-team", "system:authenticated"), court.user("rita", "system:authenticated")
    kind = operators.KIND
    await until_permitted(blue, court.operator("blue"), kind)
    await court.create(blue, kind, court.operator("blue"))
    extension = await court.create(rita, clusterextensions.KIND, court.extension())
    owned = court.owned({}, extension)
    (owner,) = owned["metadata"]["ownerReferences"]
    await rita.patch(kind, court.name, {"metadata": {"annotations": {ADOPT_FOR_ANNOTATION: court.name}}})
    assert "no ClusterExtension that owns" in await refused(court.controller.patch(kind, court.name, owned))
    assert REFUSED in await refused(rita.patch(kind, court.name, owned))
    no_controller = {**owner, "controller": False, "blockOwnerDeletion": False}
    for harmless in (no_controller, {**owner, "kind": "Catalog", "blockOwnerDeletion": False}):
        await rita.patch(kind, court.name, {"metadata": {"ownerReferences": [harmless]}})
        assert REFUSED in await refused(rita.patch(kind, court.name, owned)), harmless
    await blue.patch(
        clusterextensions.KIND, court.name, {"metadata": {"annotations": {SERVICE_ACCOUNT_ANNOTATION: "blue"}}}
    )
    await court.controller.patch(kind, court.name, owned)
    await rita.patch(kind, court.name, {"metadata": {"ownerReferences": [{**owner, "blockOwnerDeletion": False}]}})
    await rita.patch(kind, court.name, {"metadata": {"ownerReferences": None}})


async def test_an_account_needs_a_namespace_that_no_bundle_chooses(court: Court) -> None:
    body = court.deployment("blue")
    del body["spec"]["installNamespace"]
    operator = court.operator("blue")
    del operator["spec"]["install"]["namespace"]
    stranger = court.user("sam", "system:authenticated")
    await until_permitted(stranger, court.deployment(), bundledeployments.KIND)
    for kind, obj, user in (
        (bundledeployments.KIND, body, court.admin),
        (operators.KIND, operator, court.admin),
        (bundledeployments.KIND, body, stranger),
        (operators.KIND, operator, stranger),
    ):
        with pytest.raises(
            Invalid, match=r"serviceAccount\.namespace is required unless the namespace to install into"
        ):
            await user.create(kind, obj)


async def test_who_may_write_what_has_no_account_is_never_asked(court: Court) -> None:
    stranger = court.user("sam", "system:authenticated")
    await until_permitted(stranger, court.deployment(), bundledeployments.KIND)
    webhooks = court.place.configuration()
    for each in webhooks["webhooks"]:
        if each["name"].startswith("vserviceaccounts."):
            each["clientConfig"] = {"url": "https://127.0.0.1:1/nobody"}
    await court.admin.apply(_CONFIGURATIONS, webhooks, "test")
    async with asyncio.timeout(30):  # until the API server asks nobody
        while "failed calling webhook" not in await _text(stranger, court.deployment("blue")):  # noqa: ASYNC110 no event
            await asyncio.sleep(0.1)
    await court.create(stranger, bundledeployments.KIND, court.deployment())
    await court.patch(stranger, bundledeployments.KIND, {"deletionPolicy": "Orphan"})


_CONFIGURATIONS = Kind(
    "admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations"
)


async def _text(user: Client, body: Object) -> str:
    try:
        await user.request("POST", bundledeployments.KIND.path(), query={"dryRun": "All"}, body=body)
    except ApiError as error:
        return error.message
    return ""


async def test_the_labels_of_rukpak_are_written_by_accounts_with_its_mark_alone(court: Court) -> None:
    at, label = court.place.at, member_label("0f9c2f30-8f67-4b5b-9d3e-0c1c0f6b5a11")
    patch = {"metadata": {"labels": {label: "true"}}}
    account = Account(court.name, "blue")
    plain = court.user(account.user, "system:authenticated")
    async with asyncio.timeout(60):  # until the API server evaluates the policy
        while True:
            try:
                await plain.request(
                    "PATCH",
                    NAMESPACES.path(None, court.name),
                    query={"dryRun": "All"},
                    body=patch,
                    content_type="application/merge-patch+json",
                )
            except Forbidden as error:
                if "rukpak alone writes this label" in error.message:
                    break
            await asyncio.sleep(0.2)
    forged = court.admin.acting_as({**account.headers(), f"Impersonate-Extra-{EXTRA_KEY.replace('/', '%2F')}": "me"})
    assert "rukpak alone" in await refused(forged.patch(NAMESPACES, court.name, patch))
    await court.admin.acting_as(account.headers()).patch(NAMESPACES, court.name, patch)
    assert EXTRA_VALUE == "rukpak"
    assert (await at.client.get(NAMESPACES, court.name))["metadata"]["labels"][label] == "true"
