"""The Resolver: real catalogs over HTTP on loopback, a real solver process, informers without an API server."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from prometheus_client import REGISTRY

from olmkit.errors import Blocked, Waiting
from olmkit.jobs.fork_client import ForkServerClient
from olmkit.jobs.job import JobReason, Limits
from olmkit.jobs.sandbox import Sandbox
from olmkit.jobs.worker import Worker
from operator_controller.catalog_cache.client import CatalogClient
from operator_controller.operator.decide import decide
from operator_controller.operator.dependencies import deletion_hold
from operator_controller.operator.world import DeleteBundleDeployment, HoldDeletion
from operator_controller.resolution import resolution_loop, snapshot_inputs
from operator_controller.resolution.solve_request import SOLVE
from operator_controller.resolve.answers.answer import AnswerKind
from operator_controller.resolve.package.package_content import MAX_CHANNEL_ENTRIES
from tests.bundle_properties import package_required
from tests.integration.operator_controller.catalog_cache.test_client import (
    FIRST,
    SECOND,
    Server,
    catalog,
    document,
    response,
    server,
    serving,
    with_digest,
)
from tests.integration.operator_controller.resolution.running import running

__all__ = ["server"]


def solves() -> float:
    """How often Operators were resolved in this process."""
    return REGISTRY.get_sample_value("resolution_total", {"result": "success"}) or 0.0


def restarts() -> float:
    """How often the solver process was replaced in this process."""
    return REGISTRY.get_sample_value("resolution_worker_restarts_total") or 0.0


def solver_pid() -> int:
    """The process ID of the solver process: the only child of the only fork server of this process."""
    server = _children(os.getpid(), "olmkit.jobs.fork_server")
    return _children(server)


def _children(parent: int, command: str = "") -> int:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat, words = (entry / "stat").read_text(), (entry / "cmdline").read_bytes().decode()
            except OSError:
                continue
            facts = stat.rpartition(")")[2].split()
            if int(facts[1]) == parent and facts[0] != "Z" and command in words:
                found.append(int(entry.name))
    assert len(found) == 1, found
    return found[0]


async def test_an_operator_is_answered_and_woken(server: Server, tmp_path: Path) -> None:
    async with running(tmp_path) as cluster:
        cluster.add_catalog(catalog(server.address))
        cluster.add_operator("alpha")
        answer = (await cluster.answered("alpha")).answer
        assert answer is not None
        assert (answer.kind, answer.uid) == (AnswerKind.CHOSEN, "uid-alpha")
        assert answer.bundle is not None
        assert answer.bundle.version == "1.0.0"
        assert cluster.woken == ["alpha"]
        assert cluster.resolver.answers == {"alpha": answer}
        assert cluster.resolver.snapshot_number > 0


async def test_an_answer_is_never_used_for_another_spec(server: Server, tmp_path: Path) -> None:
    async with running(tmp_path) as cluster:
        cluster.add_catalog(catalog(server.address))
        cluster.add_operator("alpha")
        await cluster.answered("alpha")
        cluster.add_operator("alpha", 2, version="9.9.9")
        state = await cluster.state("alpha")
        assert state.answer is None
        assert state.since is not None
        answer = (await cluster.answered("alpha")).answer
        assert answer is not None
        assert answer.kind is AnswerKind.NO_MATCHING_BUNDLE


async def test_an_answer_is_awaited_since_the_first_pass_that_ends_without_it(server: Server, tmp_path: Path) -> None:
    async with running(tmp_path) as cluster:
        cluster.add_operator("alpha")
        first, second = [await cluster.state("alpha") for _ in range(2)]
        assert first.since is not None
        assert second.since is not None
        assert second.since > first.since, "to observe has no effect"
        assert replace(second, since=first.since) == first
        cluster.resolver.expect(first)
        assert (await cluster.state("alpha")).since == first.since
        answered = await cluster.answered("alpha")
        assert answered.request is None
        cluster.resolver.expect(first)
        assert await cluster.state("alpha") == answered, "it was answered meanwhile"


async def test_the_same_answer_to_a_changed_spec_wakes_the_operator(server: Server, tmp_path: Path) -> None:
    async with running(tmp_path) as cluster:
        cluster.add_catalog(catalog(server.address))
        cluster.add_operator("alpha")
        await cluster.answered("alpha")
        cluster.add_operator("alpha", 2, channel="a")
        await cluster.answered("alpha")
        assert cluster.woken == ["alpha", "alpha"]


async def test_a_status_is_no_reason_to_resolve(server: Server, tmp_path: Path) -> None:
    async with running(tmp_path) as cluster:
        cluster.add_catalog(catalog(server.address))
        cluster.add_operator("alpha")
        await cluster.answered("alpha")
        before = solves()
        cluster.add_catalog(catalog(server.address, packageCount=2))
        cluster.add_operator("alpha")
        cluster.add_operator("beta", packageName="q")  # the next solve
        await cluster.answered("beta")
        assert solves() == before + 1
        assert cluster.woken == ["alpha", "beta"]


async def test_many_operators_at_once_are_resolved_together(server: Server, tmp_path: Path) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        return response(FIRST, *(document(FIRST, package=f"p{number:03}") for number in range(200)))

    server.answer = answer
    async with running(tmp_path) as cluster:
        cluster.add_catalog(catalog(server.address))
        before = solves()
        for number in range(200):
            cluster.add_operator(f"o{number:03}", packageName=f"p{number:03}")
        for number in range(200):
            await cluster.answered(f"o{number:03}")
        assert solves() - before <= 3
        assert len(cluster.woken) == 200
        assert server.requested == [FIRST]


async def test_new_content_wakes_the_operators_whose_answer_changes(server: Server, tmp_path: Path) -> None:
    async with running(tmp_path) as cluster:
        cluster.add_catalog(catalog(server.address))
        cluster.add_operator("alpha")
        cluster.add_operator("beta", packageName="q")
        await cluster.answered("alpha")
        await cluster.answered("beta")
        woken = len(cluster.woken)

        async def answer(request: web.Request) -> web.StreamResponse:
            return response(SECOND, document(SECOND), document(SECOND, "1.1.0", "q"))

        server.answer = answer
        cluster.add_catalog(catalog(server.address, SECOND))
        await cluster.until("beta", lambda state: bool(state.answer and state.answer.target_version == "1.1.0"))
        assert cluster.woken[woken:] == ["beta"]


async def test_a_selected_catalog_is_the_only_one_that_counts(server: Server, tmp_path: Path) -> None:
    async with running(tmp_path) as cluster:
        other = catalog(server.address, name="d", uid="d")
        other["metadata"]["labels"] = {"team": "a"}
        cluster.add_catalog(catalog(server.address))
        cluster.add_catalog(other)
        cluster.add_operator("alpha", catalogSelector={"matchLabels": {"team": "a"}})
        answer = (await cluster.answered("alpha")).answer
        assert answer is not None
        assert answer.bundle is not None
        assert answer.bundle.catalog == "d"
        other["metadata"]["labels"] = {}
        cluster.add_catalog(other)
        await cluster.until("alpha", lambda state: bool(state.answer and not state.answer.is_resolved))


async def test_a_kind_of_the_cluster_counts_while_it_is_served(server: Server, tmp_path: Path) -> None:
    needing = document(FIRST)
    kind = {"group": "example.com", "version": "v1", "kind": "Thing"}
    needing["bundles"][0]["properties"] = [{"type": "olm.gvk.required", "value": kind}]

    async def answer(request: web.Request) -> web.StreamResponse:
        return response(FIRST, with_digest(FIRST, needing), document(FIRST, package="q"))

    server.answer = answer
    async with running(tmp_path) as cluster:
        cluster.add_catalog(catalog(server.address))
        cluster.add_operator("alpha")
        cluster.add_operator("beta", packageName="q")
        cluster.add_definition("example.com", "Thing", established=False)
        refused = (await cluster.answered("alpha")).answer
        assert refused is not None
        assert not refused.is_resolved
        await cluster.answered("beta")
        cluster.woken.clear()
        cluster.add_definition("example.com", "Thing")
        await cluster.until("alpha", lambda state: bool(state.answer and state.answer.is_resolved))
        cluster.add_definition("example.com", "Thing", deleting=True)
        await cluster.until("alpha", lambda state: bool(state.answer and not state.answer.is_resolved))
        assert cluster.woken == ["alpha", "alpha"]


async def test_a_process_that_is_killed_is_replaced(server: Server, tmp_path: Path) -> None:
    async with running(tmp_path) as cluster:
        cluster.add_catalog(catalog(server.address))
        cluster.add_operator("alpha")
        await cluster.answered("alpha")
        before, killed = restarts(), solver_pid()
        os.kill(killed, signal.SIGKILL)
        cluster.add_operator("beta", packageName="q")
        await cluster.answered("beta")
        assert solver_pid() != killed
        assert restarts() == before + 1
        assert (await cluster.state("alpha")).answer is not None


def limited_worker(limits: Limits) -> Callable[[CatalogClient], Worker]:
    """Makes the solver process with other limits."""

    def worker(client: CatalogClient) -> Worker:
        return Worker(
            ForkServerClient([SOLVE.module], Sandbox(reads=(client.directory,), network=False)), limits=limits
        )

    return worker


async def test_a_solve_that_exceeds_its_time_is_repeated_in_another_process(server: Server, tmp_path: Path) -> None:
    async with running(tmp_path, limited_worker(Limits(timeout=timedelta(seconds=5)))) as cluster:
        cluster.add_catalog(catalog(server.address))
        cluster.add_operator("alpha")
        await cluster.answered("alpha")
        stopped = solver_pid()
        os.kill(stopped, signal.SIGSTOP)
        cluster.add_operator("beta", packageName="q")
        assert (await cluster.state("alpha")).answer is not None
        await cluster.answered("beta")
        assert solver_pid() != stopped


async def hostile_package(request: web.Request) -> web.StreamResponse:
    """A catalog in which the document of package p takes more memory than a process has."""
    hostile = document(FIRST)
    hostile["bundles"] = [{}] * 1_000_000
    return response(FIRST, with_digest(FIRST, hostile), document(FIRST, package="q"))


async def test_a_document_of_any_size_that_nothing_leads_to_is_not_read(server: Server, tmp_path: Path) -> None:
    server.answer = hostile_package
    async with running(tmp_path, limited_worker(Limits(memory_bytes=96 * 1024 * 1024))) as cluster:
        cluster.add_catalog(catalog(server.address))
        cluster.add_operator("alpha", packageName="q")
        state = await cluster.until("alpha", lambda state: state.answer is not None or state.error is not None)
        assert state.answer is not None
        assert state.answer.is_resolved


async def test_a_solve_that_no_process_can_begin_is_reported_and_tried_again(server: Server, tmp_path: Path) -> None:
    """A document that is requested takes more memory than a process has."""
    server.answer = hostile_package
    async with running(tmp_path, limited_worker(Limits(memory_bytes=96 * 1024 * 1024))) as cluster:
        cluster.add_catalog(catalog(server.address))
        cluster.add_operator("alpha", packageName="q")
        cluster.add_operator("beta", packageName="p")
        failed = await cluster.until("alpha", lambda state: state.error is not None)
        assert failed.answer is None
        assert failed.error is not None
        assert failed.error.reason in (JobReason.OUT_OF_MEMORY, JobReason.CRASHED)
        server.answer, server.digest = server.valid, SECOND
        cluster.add_catalog(catalog(server.address, SECOND))
        await cluster.answered("alpha")


async def test_a_deletion_goes_on_while_no_process_can_solve(server: Server, tmp_path: Path) -> None:
    server.answer = hostile_package
    async with running(tmp_path, limited_worker(Limits(memory_bytes=96 * 1024 * 1024))) as cluster:
        cluster.add_catalog(catalog(server.address))
        cluster.add_operator("alpha", packageName="p")  # it keeps all from being resolved
        cluster.add_installed("free", deleting=True)
        cluster.add_installed("needed", deleting=True)
        cluster.add_installed("needing", "needed")
        await cluster.answered("free")
        await cluster.answered("needed")
        assert (await cluster.state("needing")).answer is None
        assert isinstance(decide(await cluster.world("free")).plan, DeleteBundleDeployment)
        assert decide(await cluster.world("needed")).plan == HoldDeletion(
            "needed", "d-needed", "required by Operator needing"
        )
        assert "needed" in cluster.resolver.related_operators("needing")
        cluster.add_installed("needing", "needed", deleting=True)
        await cluster.answered("needing")
        assert isinstance(decide(await cluster.world("needing")).plan, DeleteBundleDeployment)
        assert "is deleted first" in deletion_hold(await cluster.world("needed"))
        server.answer, server.digest = server.valid, SECOND
        cluster.add_catalog(catalog(server.address, SECOND))
        await cluster.answered("alpha")
        assert (await cluster.state("free")).answer == cluster.resolver.answers["free"]


async def test_what_a_catalog_does_not_offer_is_awaited_while_its_new_content_is_read(
    server: Server, tmp_path: Path
) -> None:
    changed, observed = catalog(server.address), catalog(server.address, observedGeneration=2)
    changed["metadata"]["generation"] = observed["metadata"]["generation"] = 2
    async with running(tmp_path) as cluster:
        cluster.add_catalog(catalog(server.address))
        cluster.add_operator("alpha", version="9.0.0")
        found = await cluster.answered("alpha")
        assert isinstance(decide(await cluster.world("alpha")).plan, Blocked)
        before = solves()
        cluster.add_catalog(changed)
        awaited = await cluster.until("alpha", lambda state: state.outdated_catalogs == ("c",))
        assert awaited.answer == found.answer
        outcome = decide(await cluster.world("alpha")).plan
        assert isinstance(outcome, Waiting)
        assert outcome.message.endswith("; catalog c serves old content until the new content is read")
        cluster.add_catalog(observed)
        await cluster.until("alpha", lambda state: not state.outdated_catalogs)
        assert isinstance(decide(await cluster.world("alpha")).plan, Blocked)
        assert solves() == before
        assert len(server.requested) == 1


async def test_a_catalog_that_cannot_be_read_is_requested_again(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(request: web.Request) -> web.StreamResponse:
        return web.Response(status=503)

    monkeypatch.setattr(snapshot_inputs, "CATALOG_RETRY_DELAY", timedelta(seconds=0.1))
    server.answer = refuse
    async with running(tmp_path) as cluster:
        cluster.add_catalog(catalog(server.address))
        cluster.add_operator("alpha")
        away = await cluster.answered("alpha")
        assert away.answer is not None
        assert away.needs_recheck
        assert not away.answer.is_final
        server.answer = server.valid
        found = await cluster.until("alpha", lambda state: bool(state.answer and state.answer.is_resolved))
        assert not found.needs_recheck


async def test_a_catalog_that_answers_late_delays_no_operator_for_long(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = asyncio.Event()

    async def late(request: web.Request) -> web.StreamResponse:
        await released.wait()
        return response(SECOND, document(SECOND, "2.0.0"))

    monkeypatch.setattr(snapshot_inputs, "FIRST_READ_TIMEOUT", timedelta(seconds=0.2))
    async with serving() as slow, running(tmp_path) as cluster:
        slow.answer = late
        cluster.add_catalog(catalog(server.address))
        cluster.add_catalog(catalog(slow.address, SECOND, name="slow", uid="slow"))
        cluster.add_operator("alpha", packageName="q")
        found = await cluster.answered("alpha")
        assert found.answer is not None
        assert found.answer.is_resolved
        released.set()


def damage_files(directory: Path) -> None:
    for file in directory.glob("sha256-*/content/*"):
        file.write_bytes(b"damaged")


def remove_directory(directory: Path) -> None:
    directory.rename(directory.with_name("removed"))


@pytest.mark.parametrize(
    "lose", [damage_files, remove_directory], ids=["its files are damaged", "its directory is removed"]
)
async def test_content_that_is_lost_on_disk_is_requested_again(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lose: Callable[[Path], None]
) -> None:
    monkeypatch.setattr(resolution_loop, "CATALOG_RETRY_DELAY", timedelta(seconds=0.1))
    async with running(tmp_path) as cluster:
        cluster.add_catalog(catalog(server.address))
        cluster.add_operator("alpha")
        await cluster.answered("alpha")
        lose(tmp_path / "resolution")
        cluster.add_operator("beta", packageName="q")
        await cluster.until("beta", lambda state: bool(state.answer and state.answer.is_resolved))
        assert server.requested == [FIRST, FIRST]


async def test_a_new_leader_has_no_answers(server: Server, tmp_path: Path) -> None:
    async with running(tmp_path) as cluster:
        cluster.add_catalog(catalog(server.address))
        cluster.add_operator("alpha")
        await cluster.answered("alpha")
        number = cluster.resolver.snapshot_number
        cluster.reconciler.start_leading()
        assert (cluster.resolver.answers, cluster.resolver.snapshot_number) == ({}, 0)
        assert (await cluster.state("alpha")).answer is None
        await cluster.answered("alpha")
        assert cluster.resolver.snapshot_number > number


async def test_a_hostile_package_affects_its_own_operator(server: Server, tmp_path: Path) -> None:
    entries = [{"name": f"b{number}"} for number in range(MAX_CHANNEL_ENTRIES + 1)]
    huge = with_digest(FIRST, {**document(FIRST), "channels": [{"name": "a", "entries": entries}]})

    async def answer(request: web.Request) -> web.StreamResponse:
        return response(FIRST, huge, document(FIRST, package="q"))

    server.answer = answer
    async with running(tmp_path) as cluster:
        cluster.add_catalog(catalog(server.address))
        cluster.add_operator("alpha")
        cluster.add_operator("beta", packageName="q")
        hostile, other = (await cluster.answered("alpha")).answer, (await cluster.answered("beta")).answer
        assert hostile is not None
        assert hostile.kind is AnswerKind.TOO_LARGE
        assert other is not None
        assert other.is_resolved


def hard_packages(name: str, pigeons: int = 12) -> list[dict[str, Any]]:
    """A package that cannot be installed, which the solver cannot prove: each of the packages that it requires needs one of the
    others for itself, of which there is one too few."""

    def package(name: str, requirements: list[list[dict[str, Any]]]) -> dict[str, Any]:
        names = [f"{name}.v{number}.0.0" for number in range(1, len(requirements) + 1)]
        bundles = [
            {"name": each, "image": f"r/{each}", "version": each.rpartition(".v")[2], "properties": properties}
            for each, properties in zip(names, requirements, strict=True)
        ]
        channel = {"name": "a", "entries": [{"name": each} for each in names]}
        rest = {"package": name, "defaultChannel": "a", "channels": [channel], "bundles": bundles}
        return with_digest(SECOND, rest)

    holes = range(1, pigeons)
    return [
        package(name, [[package_required(f"{name}-p{number}") for number in range(1, pigeons + 1)]]),
        *(
            package(f"{name}-p{number}", [[package_required(f"{name}-h{hole}", f"{number}.0.0")] for hole in holes])
            for number in range(1, pigeons + 1)
        ),
        *(package(f"{name}-h{hole}", [[] for _ in range(pigeons)]) for hole in holes),
    ]


async def test_what_is_hard_to_resolve_delays_no_other_operator(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        resolution_loop, "MAX_SUPERSEDED_SECONDS", 3600.0
    )  # on a slow machine other Operators need longer
    hard = [f"hard-{number}" for number in range(4)]

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.match_info["catalog"] == "hard":
            return response(
                SECOND, document(SECOND, package="r"), *(each for name in hard for each in hard_packages(name))
            )
        return response(FIRST, document(FIRST), *(document(FIRST, package=name) for name in ("q", "s", "t")))

    server.answer = answer
    async with running(tmp_path) as cluster:
        cluster.add_catalog(catalog(server.address, SECOND, name="hard", uid="h"))
        cluster.add_catalog(catalog(server.address))
        for name, package in (("first", "r"), ("second", "q")):  # both catalogs are read
            cluster.add_operator(name, packageName=package)
            await cluster.until(name, lambda state: bool(state.answer and state.answer.is_resolved))
        for name in hard:
            cluster.add_operator(name, packageName=name)
        cluster.add_operator("easy")

        async def undecided() -> list[str]:
            return [name for name in hard if (await cluster.state(name)).answer is None]

        await cluster.answered("easy")
        assert await undecided() == hard, "its answer does not wait for theirs"
        cluster.add_operator("later", packageName="s")
        await cluster.answered("later")
        assert await undecided() == hard, "nor that of one that comes while they are solved"
        before = solves()
        answers = [(await cluster.answered(name)).answer for name in hard]
        assert {each.kind for each in answers if each} == {AnswerKind.UNDECIDED}
        assert solves() == before + 1
        woken = len(cluster.woken)
        cluster.add_operator("last", packageName="t")
        await cluster.answered("last")
        assert cluster.woken[woken:] == ["last"], "they are not solved again"
        assert [(await cluster.state(name)).answer for name in hard] == answers
