"""What becomes of content that is missing, damaged or beyond what rendering foresaw."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from olmkit.api.customresourcedefinitions import CustomResourceDefinition
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer
from olmkit.store.store import Store
from rukpak.bundle.storage import BUNDLE_FILE, PLAIN, REGISTRY, TYPE_FILE
from rukpak.bundledeployment.cluster.rest_mapper import API_SERVICES, CRDS, RestMapper
from rukpak.bundledeployment.render_cache import EXTERNAL_NAMESPACE_DIGEST, MAX_BODIES_BYTES, RenderCache
from rukpak.bundledeployment.rendered_bundle import Content, MissingContent, RenderedBundle
from rukpak.bundledeployment.world import NAMESPACE
from rukpak.format import BadBundle, PlainBundle, RegistryBundle, to_json
from rukpak.format.bundle import FORMAT_VERSION
from rukpak.format.objects import ObjectKey
from rukpak.render.install_options import InstallOptions
from tests.unit.rukpak.builders import bundle, csv, deployment

DIGEST = f"sha256:{'a' * 64}"
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "log", "namespace": "harbour"}}


class Shelf:
    """A store with one bundle."""

    def __init__(self, root: Path, *objects: Mapping[str, Any]) -> None:
        self.store = Store(root)
        nobody = cast(Client, None)  # kinds are read from the informers only
        kinds = RestMapper(nobody, Informer(nobody, CRDS), Informer(nobody, API_SERVICES))
        self.contents = RenderCache(self.store, kinds, ("olm-suite-system",))
        with self.store.publish(DIGEST) as staging:
            (staging / BUNDLE_FILE).write_bytes(to_json(PlainBundle(tuple(objects))))
            (staging / TYPE_FILE).write_text(f"{PLAIN} {FORMAT_VERSION}")

    @property
    def file(self) -> Path:
        directory = self.store.path(DIGEST)
        assert directory is not None
        return directory / BUNDLE_FILE

    async def rendered(self, name: str = "ship-a", **options: Any) -> Content:
        return await self.contents.rendered(name, "ship", DIGEST, InstallOptions(**options))

    def replace(self, content: RegistryBundle) -> None:
        """Store this bundle instead."""
        self.store.remove(DIGEST)
        with self.store.publish(DIGEST) as staging:
            (staging / BUNDLE_FILE).write_bytes(to_json(content))
            (staging / TYPE_FILE).write_text(f"{REGISTRY} {FORMAT_VERSION}")


async def test_content_that_is_missing_or_damaged_is_asked_for_again_and_not_remembered_as_bad(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, SECRET)
    whole = shelf.file.read_bytes()
    shelf.file.write_bytes(whole[:-1])
    assert await shelf.rendered() == MissingContent()
    assert shelf.contents.take_missing("ship") == {"ship-a"}
    assert shelf.contents.take_missing("ship") == frozenset()
    shelf.file.write_bytes(whole)
    content = await shelf.rendered()
    assert isinstance(content, RenderedBundle)
    shelf.contents.drop_bodies("ship")
    shelf.store.remove(DIGEST)
    with pytest.raises(KeyError):
        await shelf.contents.bodies(content, "ship")
    assert shelf.contents.take_missing("ship") == {"ship-a"}


async def test_bodies_are_kept_of_few_bundles_and_rendered_again_for_others(tmp_path: Path) -> None:
    """Which ones are kept shows when the store has lost the content."""
    half = {**SECRET, "stringData": {"text": "x" * (MAX_BODIES_BYTES // 2)}}
    shelf = Shelf(tmp_path, half)
    contents = [await shelf.contents.rendered("ship-a", name, DIGEST, InstallOptions()) for name in ("one", "two")]
    one, two = (content for content in contents if isinstance(content, RenderedBundle))
    assert (await shelf.contents.bodies(one, "one")).keys() == {ObjectKey("", "Secret", "harbour", "log")}
    shelf.store.remove(DIGEST)
    assert await shelf.contents.bodies(one, "one")
    with pytest.raises(KeyError):
        await shelf.contents.bodies(two, "two")


async def test_one_image_that_another_bundle_reads_otherwise_is_rendered_anew(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, csv())
    as_plain = await shelf.rendered("ship-a")
    assert isinstance(as_plain, RenderedBundle)
    assert as_plain.faults
    shelf.replace(bundle())
    as_registry = await shelf.rendered("ship-b")
    assert isinstance(as_registry, RenderedBundle)
    assert as_registry.bundle == "ship-b"
    assert not as_registry.faults


async def test_content_that_rendering_did_not_foresee_is_a_fault_of_the_bundle(tmp_path: Path) -> None:
    content = await Shelf(tmp_path, {"apiVersion": "v1", "kind": "Secret"}).rendered()
    assert isinstance(content, BadBundle)
    assert content.message == "the bundle cannot be rendered: KeyError: 'metadata'"


async def test_a_definition_tells_its_versions(tmp_path: Path) -> None:
    schema = {"openAPIV3Schema": {"type": "object"}}
    versions = [("v1", True, False), ("v2", True, True), ("v3", False, False)]
    spec = {
        "group": "ship.example.com",
        "scope": "Namespaced",
        "names": {"kind": "Boat", "plural": "boats"},
        "versions": [
            {"name": name, "served": is_served, "storage": is_stored, "schema": schema}
            for name, is_served, is_stored in versions
        ],
    }
    crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}
    content = await Shelf(tmp_path, {**crd, "metadata": {"name": "boats.ship.example.com"}}).rendered()
    assert isinstance(content, RenderedBundle)
    assert [(item.versions.storage, item.versions.served) for item in content.objects()] == [("v2", ("v1", "v2"))]


async def test_a_namespace_that_objects_are_in_is_joined(tmp_path: Path) -> None:
    account = {**SECRET, "metadata": {"name": "reader", "namespace": "kube-system"}}
    content = await Shelf(tmp_path, SECRET, account).rendered()
    assert isinstance(content, RenderedBundle)
    assert content.external_namespaces == {"harbour"}, "Kubernetes' own are nobody's to remove"
    assert [(item.key, item.digest) for item in content.phases[0].objects] == [
        (ObjectKey(*NAMESPACE, "", "harbour"), EXTERNAL_NAMESPACE_DIGEST)
    ]


async def test_a_namespace_that_has_to_exist_is_neither_applied_nor_joined(tmp_path: Path) -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "harbour"}}
    shelf = Shelf(tmp_path, space, {**SECRET, "metadata": {"name": "log"}})
    content = await shelf.rendered(namespace="harbour", must_exist=True)
    assert isinstance(content, RenderedBundle)
    assert [item.key.kind for item in content.objects()] == ["Secret"]
    assert content.required_namespaces == {"harbour"}
    assert content.namespaces == ()
    assert content.warnings == ("Namespace harbour of the bundle is not applied, because namespacePolicy is MustExist",)
    created = await shelf.rendered(namespace="harbour")
    assert isinstance(created, RenderedBundle)
    assert [item.key.kind for item in created.objects()] == ["Namespace", "Secret"]
    assert (created.required_namespaces, created.warnings) == (frozenset(), ())


async def test_namespaces_that_have_to_exist_are_those_that_spec_names(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, SECRET, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "bundled"}})
    content = await shelf.rendered(namespace="port", must_exist=True)
    assert isinstance(content, RenderedBundle)
    assert content.required_namespaces == {"port"}
    assert content.external_namespaces == {"harbour"}, "it has the label that keeps it while an object is in it"
    assert content.namespace_names == {"harbour", "bundled"}
    shelf.replace(bundle(csv(modes=("MultiNamespace",), install={"deployments": [deployment()]})))
    watched = await shelf.rendered(namespace="kube-system", must_exist=True, watch_namespaces=("a", "b"))
    assert isinstance(watched, RenderedBundle)
    assert watched.required_namespaces == {"kube-system", "a", "b"}
    assert watched.namespaces == ()
    assert [item.key for item in watched.objects() if item.key[:2] == NAMESPACE] == []


@pytest.mark.parametrize(
    ("namespace", "problem"),
    [
        pytest.param("olm-suite-system", "which is the suite's own", id="the suite's own"),
        pytest.param("", "namespacePolicy MustExist requires the namespace to install into", id="none is named"),
    ],
)
async def test_a_namespace_that_cannot_be_required_is_refused(tmp_path: Path, namespace: str, problem: str) -> None:
    content = await Shelf(tmp_path, SECRET).rendered(namespace=namespace, must_exist=True)
    assert isinstance(content, BadBundle)
    assert content.reason == "InvalidConfiguration"
    assert problem in content.message


async def test_other_options_render_other_objects_of_one_bundle(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, SECRET)
    permission = {
        "serviceAccountName": "pilot",
        "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}],
    }
    install = {"deployments": [deployment()], "permissions": [permission]}
    shelf.replace(bundle(csv(modes=("MultiNamespace", "OwnNamespace"), install=install)))
    own = await shelf.rendered(namespace="port")
    assert isinstance(own, RenderedBundle)
    assert own.namespace == "port"
    assert own.external_namespaces == frozenset()
    assert isinstance(await shelf.rendered(namespace="port", is_strict=True), BadBundle)
    both = await shelf.rendered(namespace="port", watch_namespaces=("a", "b"))
    assert isinstance(both, RenderedBundle)
    assert both.external_namespaces == {"a", "b"}
    assert {item.key.namespace for item in both.objects() if item.key.kind == "Role"} == {"a", "b"}
    again = await shelf.rendered(namespace="port")
    assert again is own
    for content in (own, both):
        bodies = await shelf.contents.bodies(content, "ship")
        assert {item.key for item in content.objects()} - bodies.keys() == {
            ObjectKey(*NAMESPACE, "", name) for name in content.external_namespaces
        }


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"namespace": "kube-public"},
            'nothing may be installed into namespace "kube-public", which belongs to Kubernetes',
        ),
        (
            {"namespace": "olm-suite-system"},
            'namespace "olm-suite-system", which is the suite\'s own: name another install',
        ),
        ({"config_json": b'{"env":[]}'}, "config changes the Deployments of a registry+v1 bundle: leave it out"),
        ({"watch_namespaces": ("a",)}, "a plain+v0 bundle has no install modes: leave watchNamespaces out"),
    ],
)
async def test_options_that_the_bundle_cannot_be_installed_with(
    tmp_path: Path, options: dict[str, Any], text: str
) -> None:
    content = await Shelf(tmp_path, SECRET).rendered(**options)
    assert isinstance(content, BadBundle)
    assert content.reason == "InvalidConfiguration"
    assert text in content.message


async def test_an_object_that_could_not_be_read_does_not_end_the_informer() -> None:
    nobody = cast(Client, None)
    crds, api_services = Informer(nobody, CRDS), Informer(nobody, API_SERVICES)
    kinds = RestMapper(nobody, crds, api_services)
    odd = {"metadata": {"name": "odd", "resourceVersion": "1"}}
    for informer in (crds, api_services):
        informer.record_write(odd)
    assert list(kinds.served()) == []
    assert kinds.failed_groups == frozenset()


async def test_a_group_is_unavailable_as_soon_as_its_api_service_is() -> None:
    nobody = cast(Client, None)
    api_services = Informer(nobody, API_SERVICES)
    kinds = RestMapper(nobody, Informer(nobody, CRDS), api_services)
    service = {"metadata": {"name": "v1.m", "resourceVersion": "1"}, "remote": ("m", False)}
    api_services.record_write(service)
    assert kinds.failed_groups == {"m"}
    api_services.record_write({"metadata": {"name": "v1.m", "resourceVersion": "2"}, "remote": ("m", True)})
    assert kinds.failed_groups == frozenset()


async def test_a_kind_that_is_being_removed_counts_as_not_served_and_the_message_says_with_whom(tmp_path: Path) -> None:
    boat = {"apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"name": "dinghy", "namespace": "harbour"}}
    nobody, remover = cast(Client, None), [""]
    crds = Informer(nobody, CRDS)
    shelf = Shelf(tmp_path, boat)
    kinds = RestMapper(nobody, crds, Informer(nobody, API_SERVICES), lambda _: remover[0])
    contents = RenderCache(shelf.store, kinds, ())
    definition = CustomResourceDefinition(
        "boats.example.com",
        uid="1",
        group="example.com",
        kind="Boat",
        plural="boats",
        is_namespaced=True,
        served_versions=("v1",),
        is_established=True,
    )
    metadata = {"name": definition.name, "uid": "1", "resourceVersion": "1"}
    crds.record_write({"metadata": metadata, "definition": definition})

    async def missing() -> tuple[str, ...]:
        content = await contents.rendered("ship-a", "ship", DIGEST, InstallOptions())
        assert isinstance(content, RenderedBundle)
        return content.missing_kinds

    assert await missing() == ()
    remover[0] = "fleet"
    text = "its CustomResourceDefinition is being removed with BundleDeployment fleet"
    assert await missing() == (f"Boat (example.com/v1): {text}",)
    assert [kind.kind for kind in kinds.listable_kinds()] == ["Boat"], "what remains is still found"
    crds.record_deletion(definition.name, "1")
    remover[0] = ""
    assert await missing() == ("Boat (example.com/v1)",)
