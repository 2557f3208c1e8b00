"""Leadership changes while a replica follows: what the leader before answered is never put over what the next one serves."""

from __future__ import annotations

from tests.integration.catalogd.catalog_stores import ONE, TWO, publish, record
from tests.integration.catalogd.replicas import FollowerInputs, Replica, following, proxied, until


async def test_a_late_response_of_the_previous_leader_is_not_put_by_the_new_leader(
    leader: Replica, follower: Replica
) -> None:
    await leader.serve(ONE, "a")
    async with proxied(leader) as proxy:
        inputs = FollowerInputs(proxy.address)
        async with following(follower.catalog_store, inputs):
            await until(lambda: follower.served() == {"a": ONE})
            proxy.silence()
            await until(lambda: proxy.held_back > 0)
            inputs.leader = None
            await follower.serve(TWO, "a")  # as its reconciler does
            proxy.resume()
            polls = inputs.polls
            await until(lambda: inputs.polls > polls + 5)
            assert follower.served() == {"a": TWO}


async def test_a_late_response_of_the_previous_leader_is_not_put_under_the_next_one(
    leader: Replica, other: Replica, follower: Replica
) -> None:
    await leader.serve(ONE, "a")
    await other.serve(TWO, "a")
    publish(follower.root, TWO)
    async with proxied(leader) as proxy:
        inputs = FollowerInputs(proxy.address)
        async with following(follower.catalog_store, inputs):
            await until(lambda: follower.served() == {"a": ONE})
            proxy.silence()
            await until(lambda: proxy.held_back > 0)
            inputs.leader = other.address
            await follower.catalog_store.put("a", record(TWO))  # as copied from the new leader
            changes: list[str] = []
            follower.catalog_store.on_catalog_change(changes.append)
            proxy.resume()
            asked = len(other.asked("/records"))
            await until(lambda: len(other.asked("/records")) > asked + 2)
    assert follower.served() == {"a": TWO}
    assert changes == []


async def test_records_of_the_previous_leader_are_forgotten_while_leading(leader: Replica, follower: Replica) -> None:
    await leader.serve(ONE, "a")
    inputs = FollowerInputs(leader.address)
    async with following(follower.catalog_store, inputs):
        await until(lambda: follower.served() == {"a": ONE})
        inputs.leader = None
        polls = inputs.polls
        await until(lambda: inputs.polls > polls + 5)
        await follower.serve(TWO, "a")
        inputs.leader = ""  # the lease was lost, and there is no new leader yet
        polls = inputs.polls
        await until(lambda: inputs.polls > polls + 20)
        assert follower.served() == {"a": TWO}


async def test_content_of_a_deleted_catalog_is_not_served_for_the_next_one_of_its_name(
    leader: Replica, follower: Replica
) -> None:
    await leader.serve(ONE, "a", "b", uid="1")
    inputs = FollowerInputs(leader.address, {"a": "1", "b": "1"})
    async with following(follower.catalog_store, inputs):
        await until(lambda: follower.served() == {"a": ONE, "b": ONE})
        inputs.desired = {"a": "2", "b": "1"}
        await until(lambda: follower.served() == {"b": ONE})
        asked = len(leader.asked("/records"))
        await until(lambda: len(leader.asked("/records")) > asked + 2)
        assert follower.served() == {"b": ONE}, "what the leader has is the deleted Catalog's still"
        await leader.serve(TWO, "a", uid="2")
        await until(lambda: follower.served() == {"a": TWO, "b": ONE})


async def test_content_of_an_unknown_catalog_waits_for_the_informer(leader: Replica, follower: Replica) -> None:
    await leader.serve(ONE, "a", uid="2")
    inputs = FollowerInputs(leader.address, {"a": "1"})
    async with following(follower.catalog_store, inputs):
        asked = len(leader.asked("/records"))
        await until(lambda: len(leader.asked("/records")) > asked + 2)
        assert follower.served() == {}
        inputs.desired = {"a": "2"}
        await until(lambda: follower.served() == {"a": ONE})


async def test_a_record_of_an_earlier_version_belongs_to_any_catalog_of_its_name(
    leader: Replica, follower: Replica
) -> None:
    await leader.serve(ONE, "a", uid="")
    async with following(follower.catalog_store, FollowerInputs(leader.address, {"a": "1"})):
        await until(lambda: follower.served() == {"a": ONE})


async def test_a_record_from_before_a_restart_is_dropped_for_the_next_catalog_of_its_name(
    leader: Replica, follower: Replica
) -> None:
    await follower.serve(ONE, "a", uid="1")
    async with following(follower.catalog_store, FollowerInputs(leader.address, {"a": "2"})):
        await until(lambda: follower.served() == {})
