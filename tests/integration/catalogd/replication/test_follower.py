"""A replica that follows another over a real socket: what it serves is the leader's, byte for byte, whatever happens between."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from catalogd.replication.follower import MAX_CONCURRENT_COPIES
from catalogd.storage.catalog_store import CatalogStore
from tests.cluster.proxy import Proxy
from tests.integration.catalogd.catalog_stores import ONE, TWO, blobs_of, damage
from tests.integration.catalogd.replicas import FollowerInputs, Replica, following, log_text, proxied, replica, until
from tests.servers.raw_server import speaking

LARGE = 24 * 1024 * 1024
"""Bytes of content that is on its way for a while."""


def hold(proxy: Proxy) -> None:
    """Let half of a large file pass, then silence."""
    passed = 0

    def count(chunk: bytes) -> bytes:
        nonlocal passed
        passed += len(chunk)
        if passed > LARGE // 2:
            proxy.silence()
        return chunk

    proxy.touch(count)


async def half_is_here(follower: Replica) -> None:
    await until(lambda: max(staged(follower), default=0) > LARGE // 4)


async def change_leaders_midway(leader: Replica, other: Replica, follower: Replica) -> None:
    """Half is copied when the leader goes; the other one leads from then on, and the follower serves."""
    async with proxied(leader) as proxy:
        hold(proxy)
        inputs = FollowerInputs(proxy.address)
        async with following(follower.catalog_store, inputs):
            await half_is_here(follower)
            proxy.close()
            proxy.cut()
            inputs.leader = other.address
            await until(lambda: follower.served() == {"a": ONE})


def staged(one: Replica) -> list[int]:
    """Sizes of the files that are being copied, or left of it."""
    sizes = []
    for parent, _, names in os.walk(one.root / "content" / ".staging"):
        for name in names:
            with suppress(FileNotFoundError):
                sizes.append(os.stat(os.path.join(parent, name)).st_size)
    return sizes


async def test_a_follower_serves_what_the_leader_serves_byte_for_byte(leader: Replica, follower: Replica) -> None:
    await leader.serve(ONE, "a", "b", size=LARGE)
    await leader.serve(TWO, "c")
    async with following(follower.catalog_store, FollowerInputs(leader.address)):
        await until(lambda: follower.served() == {"a": ONE, "b": ONE, "c": TWO})
    for digest in (ONE, TWO):
        assert follower.files(digest) == leader.files(digest)
        assert len(leader.asked(f"/content/{digest}/all.jsonl")) == 1, "one copy for all names that share it"
    assert follower.records() == leader.records()
    again = CatalogStore(follower.root)
    await again.restore()
    assert set(again.names) == {"a", "b", "c"}


async def test_a_follower_moves_with_the_leader_and_keeps_what_was_before(leader: Replica, follower: Replica) -> None:
    await leader.serve(ONE, "a")
    async with following(follower.catalog_store, FollowerInputs(leader.address)):
        await until(lambda: follower.served() == {"a": ONE})
        await leader.serve(TWO, "a")
        await until(lambda: follower.served() == {"a": TWO})
        assert follower.catalog_store.find("a", ONE)
        await leader.serve(ONE, "a")
        await until(lambda: follower.served() == {"a": ONE})
    assert len(leader.asked(f"/content/{ONE}/all.jsonl")) == 1, "what was kept is not copied again"


async def test_unchanged_records_are_not_sent_again(leader: Replica, follower: Replica) -> None:
    await leader.serve(ONE, "a")
    async with following(follower.catalog_store, FollowerInputs(leader.address)):
        await until(lambda: follower.served())
        copied = len(leader.asked("/content/"))
        polls = len(leader.asked("/records"))
        await until(lambda: len(leader.asked("/records")) > polls + 5)
    assert len(leader.asked("/content/")) == copied


async def test_an_interrupted_copy_is_resumed(leader: Replica, follower: Replica) -> None:
    await leader.serve(ONE, "a", size=LARGE)
    async with proxied(leader) as proxy, following(follower.catalog_store, FollowerInputs(proxy.address)):
        hold(proxy)
        await half_is_here(follower)
        proxy.touch(None)
        proxy.cut()
        proxy.resume()
        await until(lambda: follower.served() == {"a": ONE})
    assert follower.files(ONE) == leader.files(ONE)
    first, second, *_ = (each[1] for each in leader.asked("all.jsonl"))
    assert first == ""
    assert int(second.removeprefix("bytes=").removesuffix("-")) > LARGE // 8


async def test_a_copy_is_resumed_from_a_new_leader_with_the_same_files(
    leader: Replica, other: Replica, follower: Replica
) -> None:
    for each in (leader, other):
        await each.serve(ONE, "a", size=LARGE)
    await change_leaders_midway(leader, other, follower)
    assert follower.files(ONE) == other.files(ONE)
    assert all(each[1].startswith("bytes=") for each in other.asked("all.jsonl"))


async def test_a_copy_restarts_with_a_leader_that_has_other_files(
    leader: Replica, other: Replica, follower: Replica
) -> None:
    await leader.serve(ONE, "a", size=LARGE)
    await other.serve(ONE, "a", size=LARGE // 2)
    await change_leaders_midway(leader, other, follower)
    assert follower.files(ONE) == other.files(ONE)


async def test_bytes_that_change_in_transit_are_never_served(
    leader: Replica, follower: Replica, caplog: pytest.LogCaptureFixture
) -> None:
    await leader.serve(ONE, "a", size=LARGE)
    async with proxied(leader) as proxy:
        proxy.touch(lambda chunk: chunk.replace(b"11111111", b"11111112") if len(chunk) > 20000 else chunk)
        async with following(follower.catalog_store, FollowerInputs(proxy.address)):
            await until(lambda: "all.jsonl differs from the published bytes" in log_text(caplog))
            assert follower.served() == {}
            assert follower.catalog_store.content_store.digests() == set()
            proxy.touch(None)
            await until(lambda: follower.served() == {"a": ONE})
    assert follower.files(ONE) == leader.files(ONE)
    assert staged(follower) == []


async def test_corrupt_files_of_the_leader_are_refused_and_truncated_ones_reported_to_it(
    leader: Replica, follower: Replica, caplog: pytest.LogCaptureFixture
) -> None:
    await leader.serve(ONE, "a", size=1000)
    await leader.serve(TWO, "b")
    damage(blobs_of(leader.catalog_store, "a"), "flipped")
    damage(blobs_of(leader.catalog_store, "b"), "cut")
    async with following(follower.catalog_store, FollowerInputs(leader.address)):
        await until(lambda: leader.served() == {"a": ONE})
        await until(lambda: "all.jsonl differs from the published bytes" in log_text(caplog))
        assert follower.served() == {}
        assert leader.catalog_store.corruption("b")


async def test_copies_are_served_without_a_leader(
    leader: Replica, follower: Replica, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await leader.serve(ONE, "a")
    async with proxied(leader) as proxy, replica(tmp_path / "empty") as empty:
        inputs = FollowerInputs(proxy.address)
        async with following(follower.catalog_store, inputs):
            await until(lambda: follower.served() == {"a": ONE})
            proxy.close()
            proxy.cut()
            await until(lambda: "the leader cannot be followed" in log_text(caplog))
            for inputs.leader in ("", empty.address, leader.address):
                polls = len(empty.requests), len(leader.requests)
                if inputs.leader:
                    await until(lambda polls=polls: (len(empty.requests), len(leader.requests)) != polls)  # type: ignore[misc]
                assert follower.served() == {"a": ONE}
            await leader.serve(TWO, "b")
            await until(lambda: follower.served() == {"a": ONE, "b": TWO})


async def test_a_start_before_there_is_a_leader_logs_no_problem(
    follower: Replica, caplog: pytest.LogCaptureFixture
) -> None:
    inputs = FollowerInputs(leader=None, first="")
    async with following(follower.catalog_store, inputs):
        await until(lambda: inputs.polls > 2)
    assert log_text(caplog) == ""


async def test_a_missing_leader_is_reported(follower: Replica, caplog: pytest.LogCaptureFixture) -> None:
    async with following(follower.catalog_store, FollowerInputs("")):
        await until(lambda: "the leader is not known" in log_text(caplog))


async def test_a_connection_that_is_cut_before_there_is_tls_is_reported_without_its_address(
    follower: Replica, caplog: pytest.LogCaptureFixture
) -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)

    async with speaking(hang_up) as address, following(follower.catalog_store, FollowerInputs(address), "https"):
        await until(lambda: "the leader cannot be reached" in log_text(caplog))
    text = log_text(caplog)
    assert "the leader cannot be reached: no connection" in text
    assert "ssl" not in text
    assert address not in text


async def test_only_the_catalogs_of_the_cluster_decide_what_is_removed(leader: Replica, follower: Replica) -> None:
    for digest, name in ((ONE, "a"), (TWO, "b")):
        await leader.serve(digest, name)
    inputs = FollowerInputs(leader.address, desired=None)
    async with following(follower.catalog_store, inputs):
        await until(lambda: follower.served() == {"a": ONE, "b": TWO})
        await leader.catalog_store.remove("b")
        polls = len(leader.asked("/records"))
        await until(lambda: len(leader.asked("/records")) > polls + 2)
        assert follower.served() == {"a": ONE, "b": TWO}
        inputs.desired = {"b": "2"}
        await until(lambda: follower.served() == {"b": TWO})
        await until(lambda: follower.catalog_store.content_store.digests() == {TWO})
        inputs.desired = {"a": "1", "b": "2"}
        await until(lambda: follower.served() == {"a": ONE, "b": TWO})


async def test_a_copy_of_undesired_content_is_cancelled(leader: Replica, follower: Replica) -> None:
    await leader.serve(ONE, "a", size=LARGE)
    inputs = FollowerInputs(None, {"a": "1", "b": "2"})
    async with proxied(leader) as proxy:
        hold(proxy)
        inputs.leader = proxy.address
        async with following(follower.catalog_store, inputs):
            await half_is_here(follower)
            inputs.desired = {"b": "2"}
            await until(lambda: staged(follower) == [])
            proxy.touch(None)
            proxy.resume()
            await leader.serve(TWO, "b")
            await until(lambda: follower.served() == {"b": TWO})
    assert follower.catalog_store.content_store.digests() == {TWO}


async def test_a_replica_that_becomes_the_leader_keeps_its_content(leader: Replica, follower: Replica) -> None:
    await leader.serve(ONE, "a")
    inputs = FollowerInputs(leader.address)
    async with following(follower.catalog_store, inputs):
        await until(lambda: follower.served() == {"a": ONE})
        async with proxied(leader) as proxy:
            hold(proxy)
            inputs.leader = proxy.address
            await leader.serve(TWO, "b", size=LARGE)
            await half_is_here(follower)
            inputs.leader, inputs.desired = None, {}
            await until(lambda: staged(follower) == [])
        assert follower.served() == {"a": ONE}, "what a leader serves is its reconciler's business"


async def test_copies_are_limited_to_a_few_at_a_time(leader: Replica, follower: Replica) -> None:
    digests = {f"c-{number}": f"sha256:{number:064x}" for number in range(100)}
    for name, digest in digests.items():
        await leader.serve(digest, name)
    async with following(follower.catalog_store, FollowerInputs(leader.address)):
        await until(lambda: follower.served() == digests)
    assert 1 < leader.most <= MAX_CONCURRENT_COPIES


def full() -> float:
    """How often a disk was full."""
    return REGISTRY.get_sample_value("catalogd_replication_copies_total", {"result": "disk full"}) or 0.0


async def test_content_that_does_not_fit_on_the_disk_is_reported_and_the_others_are_served(
    leader: Replica, disk: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await leader.serve(ONE, "large", size=3 * 1024 * 1024)
    await leader.serve(TWO, "small")
    failed = full()
    async with replica(disk / "cache") as follower, following(follower.catalog_store, FollowerInputs(leader.address)):
        await until(lambda: follower.served() == {"small": TWO})
        await until(lambda: "is full: free some space" in log_text(caplog))
        await until(lambda: REGISTRY.get_sample_value("catalogd_replication_behind") == 1)
        assert full() > failed
        assert follower.catalog_store.content_store.digests() == {TWO}
        await until(lambda: staged(follower) == [])  # between two attempts


async def test_a_stopped_follower_leaves_nothing_incomplete(leader: Replica, follower: Replica) -> None:
    await leader.serve(ONE, "a", size=LARGE)
    async with proxied(leader) as proxy:
        hold(proxy)
        async with following(follower.catalog_store, FollowerInputs(proxy.address)):
            await half_is_here(follower)
        assert staged(follower) == []
        assert follower.catalog_store.content_store.digests() == set()
