"""Catalogs on the real API server, from a real registry: read, served, listed, updated, broken, deleted, served again."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import pytest

from olmkit.api import catalogs, packages
from olmkit.errors import NotFound
from olmkit.runtime.metrics import RECONCILE_TOTAL
from olmkit.store.store import Store
from tests.cluster.catalogd.conftest import World, lines, package, running
from tests.conditions import triple
from tests.images import Entry, directory, file, link, tar
from tests.integration.disk import fill_up, small_disk
from tests.servers.registry_proxy import silence, status

MANAGER = "catalogd"
FOUR = lines(package("p", "1.0.0", "1.1.0", description="A package."))
FIVE = lines(package("p", "1.0.0", "1.1.0", "1.2.0", description="A package."))


def blobs(files: dict[str, bytes]) -> list[Any]:
    return [json.loads(line) for data in files.values() for line in data.splitlines()]


async def test_a_catalog_is_read_served_and_listed_as_in_the_guide(world: World, catalogd: Path) -> None:
    digest = await world.push(FOUR)
    await world.catalog(world.ref())
    found = await world.ready()
    by_digest = world.ref(f"@{digest}")
    assert triple(found, "Unpacked") == (
        *("True", "UnpackSuccessful"),
        f'successfully unpacked the catalog image "{by_digest}"',
    )
    assert found["status"]["phase"] == "Unpacked"
    assert found["status"]["resolvedSource"] == {"type": "image", "image": {"ref": by_digest}}
    assert found["status"]["contentURL"] == f"http://{world.served_at}/catalogs/{world.name}/all.json"
    assert [found["status"][key] for key in ("packageCount", "bundleCount", "packages")] == [1, 2, "p"]
    assert {each["type"] for each in found["status"]["conditions"]} == {"Ready", "Serving", "Unpacked", "Valid"}
    code, body = await world.get(f"{world.name}/all.json")
    assert (code, [orjson.loads(line) for line in body.splitlines()]) == (200, blobs(FOUR))
    (listed,) = world.packages().values()
    metadata = listed["metadata"]
    assert (metadata["name"], metadata["labels"]) == (f"{world.name}-p", {"catalog": world.name, "package": "p"})
    assert metadata["ownerReferences"] == [
        {
            **{"apiVersion": catalogs.KIND.api_version, "kind": "Catalog", "name": world.name},
            **{"uid": found["metadata"]["uid"], "controller": True, "blockOwnerDeletion": True},
        }
    ]
    assert listed["spec"] == {
        "catalog": {"name": world.name},
        "packageName": "p",
        "defaultChannel": "stable",
        "description": "A package.",
        "channels": [
            {"name": "stable", "entries": [{"name": "p.v1.0.0"}, {"name": "p.v1.1.0", "replaces": "p.v1.0.0"}]}
        ],
    }
    assert listed["status"] == {}


async def test_a_tag_that_moves_is_found_by_polling_and_only_what_changed_is_written(
    world: World, catalogd: Path
) -> None:
    await world.push(lines(package("p", "1.0.0"), package("stays", "1.0.0"), package("removed", "1.0.0")))
    await world.catalog(world.ref(), poll="1s")
    before = await world.ready()
    untouched = world.packages()[f"{world.name}-stays"]
    seen = len(world.history)
    digest = await world.push(
        lines(package("p", "1.0.0", "2.0.0"), package("stays", "1.0.0"), package("added", "1.0.0"))
    )
    after = await world.serves(digest)
    expected = {f"{world.name}-{each}" for each in ("p", "stays", "added")}

    def are_written() -> bool:
        """They are written concurrently: if one is up to date, another one need not be."""
        found = world.packages()
        entries = found[f"{world.name}-p"]["spec"]["channels"][0]["entries"]
        return found.keys() == expected and [each["name"] for each in entries] == ["p.v1.0.0", "p.v2.0.0"]

    await world.until("the Packages are those of the new content", are_written)
    assert after["status"]["resolvedSource"]["image"]["ref"] == world.ref(f"@{digest}")
    assert after["status"]["lastUnpacked"] >= before["status"]["lastUnpacked"]
    assert after["status"]["bundleCount"] == 4
    assert world.packages()[f"{world.name}-stays"] == untouched
    ready = [triple(each, "Ready")[0] for each in world.history[seen:] if each["metadata"]["name"] == world.name]
    assert set(ready) <= {"True"}


async def test_the_log_counts_the_packages_that_are_written_and_deleted(
    world: World, catalogd: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "catalogd")
    await world.push(lines(package("p", "1.0.0"), package("stays", "1.0.0"), package("removed", "1.0.0")))
    await world.catalog(world.ref(), poll="1s")
    await world.ready()
    more = lines(package("p", "1.0.0", "2.0.0"), package("stays", "1.0.0"), package("added", "1.0.0"))
    await world.serves(await world.push(more))
    async with asyncio.timeout(60):
        while len(written(caplog)) < 2:  # noqa: ASYNC110 there is no event to await
            await asyncio.sleep(0.02)
    await world.wait_for_requests("/manifests/", 2)
    expected = ["Package objects: 3 created", "Package objects: 1 created, 1 changed, 1 deleted"]
    assert written(caplog) == expected, "a pass that writes nothing logs nothing"


async def test_a_package_that_waits_for_a_finalizer_is_deleted_once(
    world: World, catalogd: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "catalogd")
    await world.push(lines(package("p", "1.0.0"), package("removed", "1.0.0")))
    await world.catalog(world.ref(), poll="1s")
    await world.ready()
    held = f"{world.name}-removed"
    await world.client.patch(packages.KIND, held, {"metadata": {"finalizers": ["example.com/held"]}})
    try:
        await world.serves(await world.push(lines(package("p", "1.0.0"))))
        await world.until("it is being deleted", lambda: "deletionTimestamp" in world.packages()[held]["metadata"])
        checks, done = world.count("/manifests/"), passes()
        await world.wait_for_requests("/manifests/", 3)
        assert passes() - done <= 2 * (world.count("/manifests/") - checks + 2), (
            "its finalizer is not waited for by passes"
        )
    finally:
        await world.client.patch(packages.KIND, held, {"metadata": {"finalizers": None}})
    await world.until("it is deleted", lambda: held not in world.packages())
    assert written(caplog) == ["Package objects: 2 created", "Package objects: 1 deleted"]


def written(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The lines of the log about Package objects."""
    return [record.getMessage() for record in caplog.records if record.name == "catalogd.catalog.package_sync"]


async def test_checking_a_tag_that_has_not_moved_pulls_and_writes_nothing(world: World, catalogd: Path) -> None:
    await world.push(FOUR)
    await world.catalog(world.ref(), poll="1s")
    await world.ready()
    await world.wait_for_requests("/manifests/", 1)
    before, pulled = world.seen()["metadata"]["resourceVersion"], world.count("/blobs/")
    checks, done = world.count("/manifests/"), passes()
    await world.wait_for_requests("/manifests/", 3)
    assert passes() - done <= 2 * (world.count("/manifests/") - checks + 1), "one that starts a check, one at its end"
    assert world.count("/blobs/") == pulled
    fresh = await world.client.get(catalogs.KIND, world.name)
    assert fresh["metadata"]["resourceVersion"] == before


def passes() -> float:
    """Passes over Catalogs that this process has made."""
    counted = (each for metric in RECONCILE_TOTAL.collect() for each in metric.samples)
    return sum(each.value for each in counted if each.name.endswith("_total") and each.labels["controller"] == MANAGER)


async def test_a_digest_is_never_checked_again(world: World, catalogd: Path) -> None:
    ref = world.ref(f"@{await world.push(FOUR)}")
    await world.catalog(ref, poll="1s")
    await world.ready()
    other = await world.catalog(world.ref(), f"{world.name}-tag", poll="1s")
    await world.ready(other)
    before = len(world.proxy.requests)
    await world.wait_for_requests("/manifests/v1", 3)
    assert [line for line, _ in world.proxy.requests[before:] if "/manifests/v1" not in line] == []


async def test_the_old_content_is_served_until_broken_content_is_fixed(world: World, catalogd: Path) -> None:
    digest = await world.push(FOUR)
    await world.catalog(world.ref(), poll="1s")
    await world.ready()
    await world.push({"configs/a.yaml": "schema: olm.package\nname: [\n"})
    found = await world.when("Unpacked", "False", "UnpackFailed")
    assert triple(found, "Unpacked")[2].startswith("load FBC from filesystem: a.yaml: line 3, column 1: ")
    assert triple(found, "Serving") == ("True", "Available", f'serving "{world.ref(f"@{digest}")}"')
    assert triple(found, "Ready")[:2] == ("True", "ServingOldContent")
    assert triple(found, "Reconciling")[:2] == ("True", "Retrying")
    assert found["status"]["phase"] == "Failing"
    assert found["status"]["resolvedSource"]["image"]["ref"] == world.ref(f"@{digest}")
    assert (await world.get(f"{world.name}/api/v1/all"))[0] == 200
    pulled = world.count("/blobs/")
    await world.wait_for_requests("/manifests/v1", 2)
    assert world.count("/blobs/") == pulled, "content that was rejected by its digest is not pulled again"
    again = world.seen()
    assert again["status"] == found["status"], "nor reported otherwise"
    await world.wait_for_requests("/manifests/v1", 2)
    assert world.seen()["metadata"]["resourceVersion"] == again["metadata"]["resourceVersion"]
    fixed = await world.serves(await world.push(FIVE))
    assert triple(fixed, "Reconciling") == ("", "", "")
    assert fixed["status"]["bundleCount"] == 3


async def test_a_registry_that_fails_is_tried_again_and_a_new_reference_is_read_at_once(
    world: World, catalogd: Path
) -> None:
    await world.push(FOUR)
    world.proxy.on("/manifests/", status(500))
    await world.catalog(world.ref())
    found = await world.when("Reconciling", "True", "Retrying")
    assert triple(found, "Ready")[:2] == ("False", "UnpackFailed")
    assert "500" in triple(found, "Unpacked")[2]
    await world.wait_for_requests("/manifests/", 1)
    world.proxy.on("/manifests/", None)
    digest = await world.push(FIVE, "v2")
    await world.catalog(world.ref(":v2"))
    assert (await world.serves(digest))["status"]["bundleCount"] == 3


async def test_the_old_content_is_served_while_a_new_reference_is_read(world: World, catalogd: Path) -> None:
    digest = await world.push(FOUR)
    await world.catalog(world.ref())
    await world.ready()
    await world.push(FIVE, "v2")
    world.proxy.on("/blobs/", silence)
    await world.catalog(world.ref(":v2"))
    found = await world.when("Unpacked", "False", "Unpacking")
    assert triple(found, "Ready")[:2] == ("True", "ServingOldContent")
    assert triple(found, "Reconciling")[:2] == ("True", "Unpacking")
    assert found["status"]["resolvedSource"]["image"]["ref"] == world.ref(f"@{digest}")
    assert (await world.get(f"{world.name}/all.json"))[0] == 200


OUTSIDE = directory("configs"), file("configs/catalog.json", FOUR["configs/catalog.json"])


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        pytest.param([*OUTSIDE, file("../evil")], '"../evil"', id="a path with dots"),
        pytest.param([*OUTSIDE, file("/evil")], '"/evil"', id="an absolute path"),
        pytest.param([*OUTSIDE, link("configs/evil", "../../../etc/passwd")], '"configs/evil"', id="a link out"),
        pytest.param(
            [directory("configs")], "load FBC from filesystem: the catalog has no blobs", id="an empty catalog"
        ),
        pytest.param([file("other/a")], '"/configs"', id="no directory of that name"),
        pytest.param(
            [file("configs/a.json", '{"schema": "x"')], "a.json: line 1, column", id="JSON that does not parse"
        ),
        pytest.param(
            [file("configs/b/a.yaml", "a: b: c")], "b/a.yaml: line 1, column 5", id="YAML that does not parse"
        ),
        pytest.param(
            [file("configs/a.json", '{"name":"x"}')], "is missing root schema field", id="a blob without schema"
        ),
        pytest.param(
            [file("configs/a.json", '{"schema":"x","y":' + "[" * 100_000)],
            "a.json: line 1",
            id="a hundred thousand deep",
        ),
        pytest.param([file("configs/a.yaml", "- " * 100_000)], "nests deeper than 250 levels", id="as deep in YAML"),
        pytest.param([file("configs/a.json", b'{"schema":"\x00"}')], "control character", id="a NUL byte"),
    ],
)
async def test_invalid_content_stalls_the_catalog_and_is_reported(
    world: World, catalogd: Path, entries: list[Entry], message: str
) -> None:
    ref = world.ref(f"@{await world.push_layers([tar(entries)])}")
    await world.catalog(ref)
    found = await world.when("Stalled", "True", "Blocked")
    assert message in triple(found, "Unpacked")[2]
    assert triple(found, "Unpacked")[:2] == ("False", "UnpackFailed")
    assert triple(found, "Ready")[:2] == ("False", "UnpackFailed")
    assert (await world.get(f"{world.name}/all.json"))[0] == 503
    assert Store(catalogd / "content").digests() == set()


async def test_an_image_without_the_label_is_named(world: World, catalogd: Path) -> None:
    ref = world.ref(f"@{await world.push_layers([tar(FOUR)], labels={})}")
    await world.catalog(ref)
    found = await world.when("Stalled", "True", "Blocked")
    label = "operators.operatorframework.io.index.configs.v1"
    assert f'catalog image "{ref}" is missing the required label "{label}"' in triple(found, "Unpacked")[2]


async def test_a_blob_that_does_not_match_its_schema_is_served_and_affects_its_package_alone(
    world: World, catalogd: Path
) -> None:
    bad = package("bad", "1.0.0")
    bad[2]["image"] = 5
    await world.push(lines(package("good", "1.0.0"), bad))
    await world.catalog(world.ref())
    found = await world.ready()
    sentence = (
        "parse bundle: json: cannot unmarshal number into Go struct field Bundle.image of type string"
        ' (package "bad", bundle "bad.v1.0.0")'
    )
    assert triple(found, "Valid") == ("False", "ProblemsFound", f"1 problem: {sentence}")
    wanted = {f"{world.name}-good", f"{world.name}-bad"}
    await world.until("both Packages are there", lambda: world.packages().keys() == wanted)
    document = json.loads((await world.get(f"{world.name}/api/v1/resolution?package=bad"))[1])
    assert document["bundles"][0]["problem"] == sentence
    assert len((await world.get(f"{world.name}/all.json"))[1].splitlines()) == 6


async def test_a_deleted_catalog_is_not_served_and_leaves_nothing_on_disk(world: World, catalogd: Path) -> None:
    await world.push(FOUR)
    await world.catalog(world.ref())
    await world.ready()
    await world.client.delete(catalogs.KIND, world.name)
    await world.until("the Catalog is deleted", lambda: not world.find())
    async with asyncio.timeout(30):
        while Store(catalogd / "content").digests():  # noqa: ASYNC110 there is no event to await
            await asyncio.sleep(0.02)
    assert (await world.get(f"{world.name}/all.json"))[0] == 404


async def test_a_catalog_that_waits_for_a_finalizer_is_not_served(world: World, catalogd: Path) -> None:
    await world.push(FOUR)
    await world.catalog_of(
        {"source": {"type": "image", "image": {"ref": world.ref()}}}, finalizers=["example.com/hold"]
    )
    await world.ready()
    await world.client.delete(catalogs.KIND, world.name)
    async with asyncio.timeout(30):
        while await is_known(world):  # noqa: ASYNC110 there is no event to await
            await asyncio.sleep(0.02)
    done = passes()
    await world.ready(await world.catalog(world.ref(), f"{world.name}-other"))
    assert passes() - done < 30, "of the other one alone: there is no loop"
    await world.client.patch(catalogs.KIND, world.name, {"metadata": {"finalizers": None}})
    await world.until("it is deleted", lambda: not world.find())


async def test_deleting_a_catalog_stops_its_job(world: World, catalogd: Path) -> None:
    await world.push(FOUR)
    world.proxy.on("/blobs/", silence)
    await world.catalog(world.ref())
    await world.when("Unpacked", "False", "Unpacking")
    async with asyncio.timeout(30):
        while not world.count("/blobs/"):  # noqa: ASYNC110 there is no event to await
            await asyncio.sleep(0.02)
    await world.client.delete(catalogs.KIND, world.name)
    staging = catalogd / "content" / ".staging"
    async with asyncio.timeout(30):
        while await is_known(world) or any(map(_is_locked, staging.iterdir())):  # noqa: ASYNC110 there is no event to await
            await asyncio.sleep(0.02)
    world.proxy.on("/blobs/", None)
    await world.catalog(world.ref())
    await world.ready()


async def is_known(world: World) -> bool:
    """Whether catalogd knows the Catalog."""
    return (await world.get(f"{world.name}/all.json"))[0] != 404


def _is_locked(work: Path) -> bool:
    """Whether a process works in that directory of a store."""
    try:
        lock = os.open(work, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(lock)


async def test_a_restart_serves_again_without_the_registry(world: World, tmp_path: Path) -> None:
    digest = await world.push(FOUR)
    by_digest = f"{world.name}-digest"
    async with running(world, tmp_path / "cache"):
        await world.catalog(world.ref())
        await world.catalog(world.ref(f"@{digest}"), by_digest)
        await world.ready()
        await world.ready(by_digest)
    new = f"{world.name}-new"
    version = (await world.client.get(catalogs.KIND, by_digest))["metadata"]["resourceVersion"]
    world.proxy.on("/", status(500))
    await world.client.delete(catalogs.KIND, world.name)
    await world.catalog(world.ref(), new)
    async with running(world, tmp_path / "cache"):
        assert (await world.get(f"{by_digest}/all.json"))[0] == 200
        await world.when("Reconciling", "True", "Retrying", new)
        assert (await world.get(f"{world.name}/all.json"))[0] == 404
        fresh = await world.client.get(catalogs.KIND, by_digest)
        assert fresh["metadata"]["resourceVersion"] == version
        assert Store(tmp_path / "cache" / "content").digests() == {digest}


async def test_content_is_served_under_a_name_only_if_the_source_of_that_name_has_it(
    world: World, tmp_path: Path
) -> None:
    digest = await world.push(FOUR)
    nowhere, late = f"{world.name}-nowhere", f"{world.name}-late"
    async with running(world, tmp_path / "cache"):
        await world.catalog(world.ref())
        await world.ready()
        await world.catalog(f"nowhere.invalid/c@{digest}", nowhere)
        found = await world.when("Reconciling", "True", "Retrying", nowhere)
        assert triple(found, "Serving")[:2] == ("False", "Unavailable")
        assert (await world.get(f"{nowhere}/all.json"))[0] != 200
        world.proxy.on("/manifests/", status(401))
        await world.catalog(world.ref(f"@{digest}"), late)
        await world.when("Reconciling", "True", "Retrying", late)
        assert (await world.get(f"{late}/all.json"))[0] != 200
        world.proxy.on("/manifests/", None)
        layers = world.count("/blobs/")
        await world.ready(late)
        assert world.count("/blobs/") == layers
        world.proxy.on("/", status(500))
        assert (await world.get(f"{late}/all.json"))[0] == 200
    async with running(world, tmp_path / "cache"):
        assert (await world.get(f"{late}/all.json"))[0] == 200
        assert (await world.get(f"{nowhere}/all.json"))[0] != 200


async def test_a_recreated_catalog_does_not_inherit_the_content_of_the_deleted_one(
    world: World, tmp_path: Path
) -> None:
    digest = await world.push(FOUR)
    async with running(world, tmp_path / "cache"):
        await world.catalog(world.ref(f"@{digest}"))
        await world.ready()
    await world.remove(world.name)
    world.proxy.on("/", status(401))
    await world.catalog(world.ref(f"@{digest}"))
    async with running(world, tmp_path / "cache"):
        found = await world.when("Reconciling", "True", "Retrying")
        assert triple(found, "Serving")[:2] == ("False", "Unavailable")
        assert (await world.get(f"{world.name}/all.json"))[0] != 200
        assert all(
            triple(each, "Serving")[0] != "True"
            for each in world.history
            if each.get("metadata", {}).get("uid") == found["metadata"]["uid"]
        )
        world.proxy.on("/", None)
        await world.ready()


async def test_packages_that_others_changed_or_deleted_are_restored(world: World, catalogd: Path) -> None:
    await world.push(lines(package("p", "1.0.0"), package("q", "1.0.0")))
    await world.catalog(world.ref())
    await world.ready()
    first, second = (f"{world.name}-{each}" for each in ("p", "q"))
    uid = world.packages()[second]["metadata"]["uid"]
    await world.client.patch(packages.KIND, first, {"spec": {"defaultChannel": "other"}})
    await world.client.delete(packages.KIND, second)
    await world.until(
        "the deleted one is created again",
        lambda: world.packages().get(second, {}).get("metadata", {}).get("uid", uid) != uid,
    )
    await world.until(
        "the changed one is restored", lambda: world.packages()[first]["spec"]["defaultChannel"] == "stable"
    )


async def test_a_field_that_others_added_to_a_package_is_left_as_it_is(world: World, catalogd: Path) -> None:
    await world.push(FOUR)
    await world.catalog(world.ref(), poll="1s")
    await world.ready()
    name = f"{world.name}-p"
    icon = {"data": "eA==", "mediatype": "image/png"}
    added = await world.client.patch(packages.KIND, name, {"spec": {"icon": icon}})
    await world.wait_for_requests("/manifests/", 3)
    fresh = await world.client.get(packages.KIND, name)
    assert fresh["metadata"]["resourceVersion"] == added["metadata"]["resourceVersion"]
    assert triple(world.seen(), "Ready")[:2] == ("True", "Succeeded")
    assert triple(world.seen(), "Reconciling") == ("", "", "")


async def test_packages_of_two_catalogs_with_the_same_object_name_both_get_one(world: World, catalogd: Path) -> None:
    await world.push(lines(package("x-p", "1.0.0")))
    await world.push(lines(package("p", "1.0.0"), package("Odd_Name", "1.0.0")), "v2")
    await world.catalog(world.ref())
    await world.ready()
    second = await world.catalog(world.ref(":v2"), f"{world.name}-x")
    found = await world.ready(second)
    assert world.packages().keys() == {f"{world.name}-x-p"}
    names = {each["spec"]["packageName"]: name for name, each in world.packages(second).items()}
    assert names["p"].startswith(f"{world.name}-x-p-")
    assert names["Odd_Name"].startswith(f"{world.name}-x-odd-name-")
    for subject, name in names.items():
        assert f'"{subject}" -> {name}' in triple(found, "Valid")[2]
    taken = names["p"]
    await world.remove(world.name)  # and with it the Package that had the name
    with suppress(NotFound):  # the garbage collector may have deleted it
        await world.client.delete(packages.KIND, f"{world.name}-x-p")
    plain = {f"{world.name}-x-p", names["Odd_Name"]}
    await world.until("the free name is used", lambda: world.packages(second).keys() == plain)
    await world.until("and is not listed in Valid", lambda: taken not in triple(world.seen(second), "Valid")[2])


async def test_a_recreated_catalog_replaces_the_packages_of_the_deleted_one(world: World, catalogd: Path) -> None:
    await world.push(FOUR)
    await world.catalog(world.ref())
    old = (await world.ready())["metadata"]["uid"]
    await world.client.delete(catalogs.KIND, world.name)
    await world.catalog(world.ref())

    def recreated() -> str | None:
        found = world.find()
        return (
            found["metadata"]["uid"]
            if triple(found, "Ready")[0] == "True" and found["metadata"]["uid"] != old
            else None
        )

    def owners() -> set[str]:
        return {each["metadata"]["ownerReferences"][0]["uid"] for each in world.packages().values()}

    new = await world.until("the new Catalog is Ready", recreated)
    await world.until("its Packages are its own", lambda: owners() == {new})


async def test_content_that_was_damaged_during_downtime_is_reported_and_read_again(
    world: World, tmp_path: Path
) -> None:
    await world.push(FOUR)
    async with running(world, tmp_path / "cache"):
        await world.catalog(world.ref())
        await world.ready()
        _, whole = await world.get(f"{world.name}/all.json")
    await asyncio.to_thread(_flip_a_bit, tmp_path / "cache" / "content")
    world.proxy.on("/", status(500))
    async with running(world, tmp_path / "cache"):
        found = await world.when("Serving", "False", "Unavailable")
        assert triple(found, "Serving")[2].startswith("the content is damaged on disk and is read again: ")
        assert (await world.get(f"{world.name}/all.json"))[0] == 503
        world.proxy.on("/", None)
        await world.ready()
        assert await world.get(f"{world.name}/all.json") == (200, whole)


def _flip_a_bit(store: Path) -> None:
    (path,) = store.glob("*/content/all.jsonl")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


async def test_a_full_disk_is_reported_and_the_content_of_before_is_served(world: World, tmp_path: Path) -> None:
    before = await world.push(FOUR)
    with small_disk(tmp_path / "disk") as disk:
        async with running(world, disk):
            await world.catalog(world.ref())
            await world.ready()
            fill_up(disk)
            await world.push(FIVE, "v2")
            await world.catalog(world.ref(":v2"))
            found = await world.when("Unpacked", "False", "UnpackFailed")
            text = triple(found, "Unpacked")[2]
            assert text.startswith("source catalog content: the disk that ")
            assert text.endswith(" is full: free some space or give the cache a larger volume")
            assert triple(found, "Serving")[0] == "True"
            assert before in found["status"]["resolvedSource"]["image"]["ref"]
