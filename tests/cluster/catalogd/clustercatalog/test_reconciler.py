"""ClusterCatalogs on the real API server, from a real registry: served, polled, unavailable, deleted, taken over, left behind."""

from __future__ import annotations

import base64
from pathlib import Path

from prometheus_client import REGISTRY

from devcluster.suite import NAMESPACE as SUITE_NAMESPACE
from olmkit.api import catalogs, clustercatalogs
from olmkit.api.catalogs import NAME_LABEL, REFRESH_ANNOTATION
from olmkit.api.clustercatalogs import ADOPT_ANNOTATION, FINALIZER
from olmkit.api.clusterextensions import OWNER_KIND_LABEL
from olmkit.api.foreign_leader import UPSTREAM_LEASES
from olmkit.api.meta import Object
from olmkit.runtime.event_recorder import EVENT
from olmkit.runtime.lease_holder import LEASE
from olmkit.tls.certificate_rotator import SECRET
from olmkit.tls.service import CA_KEY, CATALOG_SERVICE, CONFIG_MAP, V1_CA_SECRET, V1_SERVICE
from tests.cluster.catalogd.conftest import NAMESPACE, World, lines, package, running
from tests.cluster.catalogd.elected import Replicas
from tests.cluster.olmkit.conftest import until
from tests.conditions import triple

CONTENT = lines(package("p", "1.0.0"))
MORE = lines(package("p", "1.0.0", "1.1.0"))
HTTP_OK, HTTP_NOT_FOUND = 200, 404
HOST = f"{V1_SERVICE}.{SUITE_NAMESPACE}.svc"


async def served(world: World, digest: str) -> Object:
    """The ClusterCatalog as soon as it serves that digest."""

    def reached() -> Object | None:
        found = world.found()
        resolved = (found.get("status") or {}).get("resolvedSource") or {}
        return found if resolved.get("image", {}).get("ref", "").endswith(digest) else None

    return await world.until(f"{digest} is served", reached)


async def delete(world: World, policy: str) -> None:
    """Delete the ClusterCatalog, and wait until it does not exist."""
    path = clustercatalogs.KIND.path(name=world.name)
    await world.client.request("DELETE", path, body={"propagationPolicy": policy})
    await world.until("the ClusterCatalog is deleted", lambda: not world.found())


async def test_a_cluster_catalog_is_served_polled_and_deleted(world: World, replicas: Replicas) -> None:
    """With the account of catalogd, which has no other permissions than those of config."""
    replica = await replicas.start("only", f"--v1-address={HOST}")
    digest = await world.push(CONTENT)
    await world.cluster_catalog(world.ref(), image={"pollIntervalMinutes": 7}, priority=3)
    found = await world.when_found("Serving", "True", "Available")
    assert triple(found, "Progressing")[:2] == ("True", "Succeeded")
    assert (found["metadata"]["finalizers"], found["metadata"]["labels"]) == ([FINALIZER], {NAME_LABEL: world.name})
    status = found["status"]
    assert status["resolvedSource"] == {"type": "Image", "image": {"ref": world.ref(f"@{digest}")}}
    assert status["urls"] == {"base": f"https://{HOST}/catalogs/{world.name}"}
    assert (await replicas.ask(replica, f"/catalogs/{world.name}/api/v1/all"))[0] == HTTP_OK
    owned = await world.ready()
    assert status["lastUnpacked"] == owned["status"]["lastUnpacked"]
    assert owned["spec"]["source"]["image"] == {"ref": world.ref(), "pollInterval": "7m"}
    assert owned["metadata"]["labels"] == {NAME_LABEL: world.name, OWNER_KIND_LABEL: "ClusterCatalog"}
    published = await world.client.get(SECRET, V1_CA_SECRET, SUITE_NAMESPACE)
    config_map = await world.client.get(CONFIG_MAP, CATALOG_SERVICE.config_map, SUITE_NAMESPACE)
    assert base64.b64decode(published["data"][CA_KEY]).decode() == config_map["data"][CA_KEY]

    newer = await world.push(MORE)
    annotations = {"metadata": {"annotations": {REFRESH_ANNOTATION: "1"}}}
    await world.client.patch(catalogs.KIND, world.name, annotations)
    assert triple(await served(world, newer), "Progressing")[:2] == ("True", "Succeeded")
    await delete(world, "Background")
    assert not world.find()
    assert (await replicas.ask(replica, f"/catalogs/{world.name}/api/v1/all"))[0] == HTTP_NOT_FOUND


async def test_a_cluster_catalog_is_changed_turned_off_and_on(world: World, catalogd: Path) -> None:
    await world.push(CONTENT)
    await world.cluster_catalog(world.ref())
    await world.when_found("Serving", "True", "Available")
    labels = {"metadata": {"labels": {"team": "a"}}}
    await world.client.patch(clustercatalogs.KIND, world.name, labels)
    await world.until("the label is copied", lambda: "team" in world.seen()["metadata"]["labels"])
    await world.client.patch(clustercatalogs.KIND, world.name, {"metadata": {"labels": {"team": None}}})
    await world.until("the label is removed", lambda: "team" not in world.seen()["metadata"]["labels"])

    await world.client.patch(clustercatalogs.KIND, world.name, {"spec": {"availabilityMode": "Unavailable"}})
    off = await world.when_found("Serving", "False", "UserSpecifiedUnavailable")
    assert off["status"].keys() == {"conditions"}
    await world.until("the finalizer is removed", lambda: not world.found()["metadata"].get("finalizers"))
    await world.client.patch(clustercatalogs.KIND, world.name, {"spec": {"availabilityMode": "Available"}})
    await world.when_found("Serving", "True", "Available")


async def test_a_catalog_of_others_blocks_until_it_is_handed_over_and_stays_when_asked(
    world: World, catalogd: Path
) -> None:
    digest = await world.push(CONTENT)
    git = {"type": "git", "git": {"repository": "https://git.invalid/c", "ref": {"branch": "main"}}}
    await world.catalog_of({"source": git}, labels={"people": "yes"})
    await world.cluster_catalog(world.ref())
    found = await world.when_found("Progressing", "False", "Blocked")
    assert f'Catalog "{world.name}" exists and does not belong to' in triple(found, "Progressing")[2]
    handed_over = {"metadata": {"annotations": {ADOPT_ANNOTATION: world.name}}}
    await world.client.patch(catalogs.KIND, world.name, handed_over)
    await served(world, digest)
    adopted = world.seen()
    assert adopted["spec"]["source"] == {"type": "image", "image": {"ref": world.ref(), "pollInterval": "0s"}}
    assert adopted["metadata"]["labels"] == {NAME_LABEL: world.name, OWNER_KIND_LABEL: "ClusterCatalog"}
    assert [each["kind"] for each in adopted["metadata"]["ownerReferences"]] == ["ClusterCatalog"]
    assert "annotations" not in adopted["metadata"]

    uid = world.found()["metadata"]["uid"]
    await delete(world, "Orphan")
    left = world.seen()
    assert ("ownerReferences" in left["metadata"], left["metadata"]["labels"]) == (False, {NAME_LABEL: world.name})
    assert (await world.get(f"{world.name}/api/v1/all"))[0] == HTTP_OK
    events, _ = await world.client.list(EVENT, "default", field_selector=f"involvedObject.uid={uid}")
    assert {each["reason"] for each in events} >= {"Blocked", "Available", "Released"}


def passes() -> float:
    """The passes over ClusterCatalogs that stood aside for upstream."""
    labels = {"controller": "clustercatalog", "result": "requeue_after"}
    return REGISTRY.get_sample_value("controller_runtime_reconcile_total", labels) or 0


async def test_while_upstream_leads_nothing_is_written(world: World, tmp_path: Path) -> None:
    before = passes()
    metadata = {"name": UPSTREAM_LEASES[1], "namespace": NAMESPACE}
    lease = {"apiVersion": LEASE.api_version, "kind": LEASE.kind, "metadata": metadata}
    held = {**lease, "spec": {"holderIdentity": "upstream", "leaseDurationSeconds": 137}}
    await world.client.apply(LEASE, held, "test")
    try:
        digest = await world.push(CONTENT)
        await world.cluster_catalog(world.ref())
        async with running(world, tmp_path / "cache"):
            await until(lambda: passes() > before, "it is left to upstream")
            assert ("finalizers" in world.found()["metadata"], world.find()) == (False, {})
            await world.client.apply(LEASE, {**lease, "spec": {"leaseDurationSeconds": 1}}, "test")
            await served(world, digest)
            await delete(world, "Background")
    finally:
        await world.client.delete(LEASE, UPSTREAM_LEASES[1], NAMESPACE)
