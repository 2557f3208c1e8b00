"""Hostile Catalogs: the status names the problem, memory stays bounded, no files are left, and other Catalogs are not affected.

Meanwhile one catalog is requested continuously, and the memory of catalogd with its jobs is measured.
"""

import json
import os
import re
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from devcluster.cluster import Cluster
from devcluster.demo.full_catalog import catalog_object
from devcluster.processes import children
from devcluster.suite import Suite
from devcluster.watch import CATALOGS, Object, condition, is_true
from tests.conditions import triple
from tests.e2e import hostile, hostile_contents
from tests.e2e.faulty_registry import HOST, FaultyRegistry
from tests.e2e.packages import package_blobs, publish
from tests.e2e.stage import Stage
from tests.forked_programs import restart_unforked

ALLOWANCE = 120_000_000
"""Bytes of memory that reading any of these catalogs may take, however large it is: without limits most would take a gigabyte.

Most take 60 MB. A package of nearly as many channels as are offered takes 75 MB, half of it in catalogd itself, for the Package.
"""
_SAMPLE_SECONDS = 0.05
_ANSWER_SECONDS = 30.0
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")


class Witness:
    """Requests a catalog and measures the memory of catalogd continuously, in threads inside the context."""

    def __init__(self, suite: Suite, name: str) -> None:
        self._url = f"https://{suite.addresses['catalogd'].catalogs}/catalogs/{name}/all.json"
        self._suite = suite
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._ask, self._measure)]
        self.answers = self.samples = 0
        self.faults: list[str] = []
        self._lock = threading.Lock()
        self.peak = 0
        while (idle := suite.own_memory("catalogd")) is None:
            time.sleep(_SAMPLE_SECONDS)
        self.idle = idle
        assert self.idle > 0
        assert children(suite.pid("catalogd")), "the memory of its jobs counts"

    def __enter__(self) -> Self:
        for each in self._threads:
            each.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        for each in self._threads:
            each.join()

    def begin(self) -> None:
        """Reset the peak."""
        with self._lock:  # else a sample that is being taken brings the old one back
            self.peak = 0

    def check(self) -> None:
        """Fails if a request failed, or if too much memory was used."""
        assert self.faults == []
        assert self.peak < self.idle + ALLOWANCE, f"{self.peak:,} bytes, idle {self.idle:,}"

    def _ask(self) -> None:
        trust = self._suite.tls_context()
        while not self._ended.wait(_SAMPLE_SECONDS):
            try:
                with urllib.request.urlopen(self._url, timeout=_ANSWER_SECONDS, context=trust) as answer:
                    answer.read()
                    self.answers += 1
            except OSError as error:
                self.faults.append(str(error))

    def _measure(self) -> None:
        while not self._ended.wait(_SAMPLE_SECONDS):
            with self._lock:
                size = self._suite.own_memory("catalogd")
                if size is not None:
                    self.samples += 1
                    self.peak = max(self.peak, size)


@pytest.fixture(scope="module")
def arena(cluster: Cluster, suite: Suite) -> Iterator[Stage]:
    """One Stage for all tests of this module, with a catalog of its name that is always served. The jobs of catalogd are its
    children."""
    restart_unforked(suite, "catalogd")
    stage = Stage(cluster, suite, "hostile")
    try:
        publish(stage, package_blobs("witness-operator", {"1.0.0": "registry.example.com/bundles/never-pulled:v1"}))
        yield stage
    finally:
        stage.close()


@pytest.fixture(scope="module")
def witness(arena: Stage, suite: Suite) -> Iterator[Witness]:
    """The Witness of the served catalog."""
    with Witness(suite, arena.name) as asking:
        yield asking
    assert asking.answers > 0
    assert asking.samples > 0
    assert asking.faults == []


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A Catalog's name for this test."""
    return "hostile-" + re.sub(r"[^a-z0-9]+", "-", request.node.name.lower())[-50:].strip("-")


SWEPT_SECONDS = 120.0


def _contents(suite: Suite) -> set[str]:
    """All files of catalogd except encoded ones, which are made with low priority. Files that disappear meanwhile are skipped."""
    found: set[str] = set()
    for parent, directories, files in os.walk(suite.directory / "catalogd-cache"):
        directories[:] = [name for name in directories if name != "encoded"]
        found.update(os.path.join(parent, name) for name in (*directories, *files))
    return found


def _until_swept(suite: Suite, before: set[str]) -> None:
    """Wait until catalogd has no other files than before: those of a killed job are removed soon."""
    deadline = time.monotonic() + SWEPT_SECONDS
    while left := _contents(suite) - before:
        assert time.monotonic() < deadline, left
        time.sleep(_SAMPLE_SECONDS)


def _is_settled(found: Object) -> bool:
    return triple(found, "Unpacked")[1] == "UnpackFailed" or is_true(found, "Ready")


def _refused(arena: Stage, name: str, *, stalled: bool = True, seconds: float = 120) -> str:
    """The message of the Catalog when it is refused."""
    found = arena.catalog_when(name, "UnpackFailed or Ready", _is_settled, seconds)
    assert triple(found, "Unpacked")[:2] == ("False", "UnpackFailed"), found["status"]
    assert triple(found, "Ready")[0] == "False"
    assert condition(found, "Stalled" if stalled else "Reconciling")["status"] == "True", found["status"]
    assert "contentURL" not in found["status"]
    message = triple(found, "Unpacked")[2]
    assert "\n" not in message
    assert not _CONTROL.search(message.encode())
    assert len(message) < 2000
    return message


def _attacks(attacks: Sequence[hostile_contents.Refused | hostile_contents.Served], *always: str) -> list[Any]:
    """The parameters of a test; `make test` runs it with these attacks only, of which each is one of its kind."""
    marks = [() if each.what in always else pytest.mark.hostile for each in attacks]
    return [pytest.param(each, id=each.what, marks=mark) for each, mark in zip(attacks, marks, strict=True)]


@pytest.mark.parametrize("attack", _attacks(hostile_contents.REFUSED, "1 GB of zeros", "a bomb of aliases"))
def test_refused_catalogs(arena: Stage, witness: Witness, name: str, attack: hostile_contents.Refused) -> None:
    reference = hostile.push(arena.cluster.registry, f"catalogs/{name}", [attack.layer()])
    before = _contents(arena.suite)
    witness.begin()
    arena.catalog(reference, name, "1h")
    message = _refused(arena, name)
    witness.check()
    assert attack.words in message
    _until_swept(arena.suite, before)


@pytest.mark.parametrize("attack", _attacks(hostile_contents.SERVED, "names of others"))
def test_unusual_catalogs_that_are_served(
    arena: Stage, witness: Witness, name: str, attack: hostile_contents.Served
) -> None:
    reference = hostile.push(arena.cluster.registry, f"catalogs/{name}", [attack.layer()])
    witness.begin()
    arena.catalog(reference, name, "1h")
    found = arena.catalog_when(name, "Ready", lambda o: is_true(o, "Ready"), 120)
    witness.check()
    message = triple(found, "Valid")[2]
    assert attack.words in message
    assert not _CONTROL.search(message.encode())
    served = _get(arena.suite, f"/catalogs/{name}/api/v1/packages")
    assert isinstance(json.loads(served)["packages"], list)
    arena.delete("Catalog", name)


@pytest.mark.hostile
def test_an_image_of_10_000_layers(arena: Stage, witness: Witness, name: str) -> None:
    layer = hostile.catalog((hostile.blob("x"), 1))
    reference = hostile.push(arena.cluster.registry, f"catalogs/{name}", [layer], repeat=10_000)
    witness.begin()
    arena.catalog(reference, name, "1h")
    assert "layers" in _refused(arena, name)
    witness.check()


_WAYS = (
    ("trickles", "sends too slowly"),
    ("is-longer", "sent bytes for"),
    ("is-shorter", "bytes"),
    ("other-bytes", "bytes"),
    ("hangs", "does not answer"),
    ("endless-head", "registry"),
    ("one-endless-header", "registry"),
    ("closes-midway", "closed the connection in the middle of a response"),
    ("garbage", "does not answer with HTTP"),
    ("to-a-file", "redirects to an address that is not http or https"),
    ("to-metadata", "169.254.169.254"),
    ("to-itself", "redirects more than"),
)


@pytest.mark.hostile
@pytest.mark.timeout(900)
def test_servers_that_lie_stall_and_never_end(
    arena: Stage, witness: Witness, faulty_registry: FaultyRegistry, suite: Suite
) -> None:
    """All at once, since some are waited for; and what is asked for meanwhile is served all the same."""
    before = _contents(suite)
    for way, _ in _WAYS:
        arena.catalog(f"{HOST}/{way}/catalog:latest", f"hostile-registry-{way}", "1h")
        arena.catalog(f"{HOST}/{way}-at-once/catalog:latest", f"hostile-manifest-{way}", "1h")
        arena.apply(_other(f"hostile-http-{way}", "http", url=f"http://{faulty_registry.address}/{way}/c.tar.gz"))
        repository = f"http://{faulty_registry.address}/{way}/c.git"
        arena.apply(_other(f"hostile-git-{way}", "git", repository=repository, ref={"branch": "main"}))
    for way, words in _WAYS:
        message = _refused(arena, f"hostile-registry-{way}", stalled=False, seconds=240)
        assert words in message, (way, message)
        for kind in ("manifest", "http", "git"):
            message = _refused(arena, f"hostile-{kind}-{way}", stalled=False, seconds=240)
            assert "unexpected error" not in message, (kind, way)
    for way, _ in _WAYS:
        for kind in ("registry", "manifest", "http", "git"):
            arena.delete("Catalog", f"hostile-{kind}-{way}")
    assert witness.faults == []
    _until_swept(suite, before)


@pytest.mark.hostile
def test_slow_servers_do_not_delay_other_catalogs(arena: Stage, witness: Witness, name: str) -> None:
    slow = [arena.catalog(f"{HOST}/almost-too-slow/catalog:latest", f"hostile-slow-{n}", "1h") for n in range(6)]
    for each in slow[:4]:
        arena.catalog_when(each, "being pulled", lambda o: triple(o, "Unpacked")[1] == "Unpacking")
    reference = hostile.push(arena.cluster.registry, f"catalogs/{name}", [hostile.catalog((hostile.blob("x"), 1))])
    arena.catalog(reference, name)
    arena.catalog_when(name, "Ready", lambda o: is_true(o, "Ready"), 120)
    assert witness.faults == []
    found = arena.watch(CATALOGS).objects
    assert [triple(found[each], "Unpacked")[1] for each in slow[:4]] == ["Unpacking"] * 4
    for each in slow:
        arena.delete("Catalog", each)


def _other(name: str, kind: str, **source: Any) -> Object:
    made = catalog_object(name, "")
    made["spec"]["source"] = {"type": kind, kind: {**source, "pollInterval": "1h"}}
    return made


def _get(suite: Suite, path: str) -> bytes:
    url = f"https://{suite.addresses['catalogd'].catalogs}{path}"
    with urllib.request.urlopen(url, timeout=_ANSWER_SECONDS, context=suite.tls_context()) as answer:
        data: bytes = answer.read()
        return data


def test_the_log_has_no_traceback_and_no_control_characters(suite: Suite) -> None:
    log = Path(suite.log("catalogd")).read_bytes()
    assert b"Traceback" not in log
    assert not _CONTROL.search(log)
