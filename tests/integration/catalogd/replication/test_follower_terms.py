"""Leadership changes while a replica follows: what the leader before answered is never put over what the next one serves."""

from __future__ import annotations

from tests.integration.catalogd.catalog_stores import ONE, TWO, publish, record
from tests.integration.catalogd.replicas import Replica, Sight, following, proxied, until


async def test_a_late_answer_of_the_leader_before_is_not_put_by_the_replica_that_leads_now(
    leader: Replica, follower: Replica
) -> None:
    await leader.serve(ONE, "a")
    async with proxied(leader) as proxy:
        sight = Sight(proxy.address)
        async with following(follower.catalog_store, sight):
            await until(lambda: follower.served() == {"a": ONE})
            proxy.silence()
            asked = len(leader.asked("/records"))
            await until(lambda: len(leader.asked("/records")) > asked)
            sight.leader = None
            await follower.serve(TWO, "a")  # as its reconciler does
            proxy.resume()
            looks = sight.looks
            await until(lambda: sight.looks > looks + 5)
            assert follower.served() == {"a": TWO}


async def test_a_late_answer_of_the_leader_before_is_not_put_under_the_next_one(
    leader: Replica, other: Replica, follower: Replica
) -> None:
    await leader.serve(ONE, "a")
    await other.serve(TWO, "a")
    publish(follower.root, TWO)
    async with proxied(leader) as proxy:
        sight = Sight(proxy.address)
        async with following(follower.catalog_store, sight):
            await until(lambda: follower.served() == {"a": ONE})
            proxy.silence()
            asked = len(leader.asked("/records"))
            await until(lambda: len(leader.asked("/records")) > asked)
            sight.leader = other.address
            await follower.catalog_store.put("a", record(TWO))  # what it has of the new leader already
            changes: list[str] = []
            follower.catalog_store.on_catalog_change(changes.append)
            proxy.resume()
            asked = len(other.asked("/records"))
            await until(lambda: len(other.asked("/records")) > asked + 2)
    assert follower.served() == {"a": TWO}
    assert changes == []


async def test_what_was_followed_is_forgotten_while_leading(leader: Replica, follower: Replica) -> None:
    await leader.serve(ONE, "a")
    sight = Sight(leader.address)
    async with following(follower.catalog_store, sight):
        await until(lambda: follower.served() == {"a": ONE})
        sight.leader = None
        looks = sight.looks
        await until(lambda: sight.looks > looks + 5)
        await follower.serve(TWO, "a")
        sight.leader = ""  # the lease is lost, and nobody has taken it yet
        looks = sight.looks
        await until(lambda: sight.looks > looks + 20)
        assert follower.served() == {"a": TWO}


async def test_content_of_a_deleted_catalog_is_not_served_for_the_next_one_of_its_name(
    leader: Replica, follower: Replica
) -> None:
    await leader.serve(ONE, "a", "b", uid="1")
    sight = Sight(leader.address, {"a": "1", "b": "1"})
    async with following(follower.catalog_store, sight):
        await until(lambda: follower.served() == {"a": ONE, "b": ONE})
        sight.wanted = {"a": "2", "b": "1"}
        await until(lambda: follower.served() == {"b": ONE})
        asked = len(leader.asked("/records"))
        await until(lambda: len(leader.asked("/records")) > asked + 2)
        assert follower.served() == {"b": ONE}, "what the leader has is the deleted Catalog's still"
        await leader.serve(TWO, "a", uid="2")
        await until(lambda: follower.served() == {"a": TWO, "b": ONE})


async def test_content_of_a_catalog_that_is_not_known_yet_waits_for_its_informer(
    leader: Replica, follower: Replica
) -> None:
    await leader.serve(ONE, "a", uid="2")
    sight = Sight(leader.address, {"a": "1"})
    async with following(follower.catalog_store, sight):
        asked = len(leader.asked("/records"))
        await until(lambda: len(leader.asked("/records")) > asked + 2)
        assert follower.served() == {}
        sight.wanted = {"a": "2"}
        await until(lambda: follower.served() == {"a": ONE})


async def test_a_record_of_an_earlier_version_is_of_any_catalog_of_its_name(leader: Replica, follower: Replica) -> None:
    await leader.serve(ONE, "a", uid="")
    async with following(follower.catalog_store, Sight(leader.address, {"a": "1"})):
        await until(lambda: follower.served() == {"a": ONE})


async def test_what_was_noted_before_a_restart_is_dropped_for_the_next_catalog_of_its_name(
    leader: Replica, follower: Replica
) -> None:
    await follower.serve(ONE, "a", uid="1")
    async with following(follower.catalog_store, Sight(leader.address, {"a": "2"})):
        await until(lambda: follower.served() == {})
