"""Controllers that are killed repeatedly, each time right after a write, still reach the desired state."""

import queue
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import pytest

from devcluster.demo.sample_catalog import SAMPLES
from devcluster.images import Content, Pushed
from devcluster.suite import COMPONENTS, NAMESPACE
from devcluster.watch import BUNDLE_DEPLOYMENTS, BUNDLES, CATALOGS, NAMESPACES, OPERATORS, PACKAGES, Event, Watch
from tests.e2e.stage import CRDS, Stage

PACKAGE = "hello-operator"
INSTALLED_INTO = "hello-operator-system"
WRITTEN = (
    CATALOGS,
    PACKAGES,
    OPERATORS,
    BUNDLE_DEPLOYMENTS,
    BUNDLES,
    NAMESPACES,
    CRDS,
    f"/api/v1/namespaces/{INSTALLED_INTO}/serviceaccounts",
    f"/api/v1/namespaces/{INSTALLED_INTO}/services",
    f"/apis/apps/v1/namespaces/{INSTALLED_INTO}/deployments",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
)
KILLS = 8
"""Of one controller in each step, if it alone is killed."""
SECONDS = 240.0
"""For one of the three steps: after each kill a process starts, which takes long on a slow machine."""


def _publish(stage: Stage, *without: str) -> Pushed:
    return stage.publish(Content(SAMPLES / "catalog", SAMPLES / "bundles"), [PACKAGE], without)


@contextmanager
def _writes(stage: Stage) -> Iterator["queue.Queue[Event]"]:
    events: queue.Queue[Event] = queue.Queue()
    with ExitStack() as entered:
        watches = [entered.enter_context(Watch(stage.cluster, path, events)) for path in WRITTEN]
        for watch in watches:
            watch.until_listed()
        yield events


def _kill_until(
    stage: Stage, victims: Sequence[str], events: "queue.Queue[Event]", is_done: Callable[[], bool]
) -> None:
    """Kill a controller after every observed write, one after the other, this often at most and at least once."""
    kills = 0
    began = time.monotonic()
    deadline = began + SECONDS
    while not kills or not is_done():
        if time.monotonic() > deadline:
            pytest.fail(f"{kills} kills, and not done after {SECONDS:.0f} seconds:\n{_state(stage)}")
        # After one write, after two, after three: so that each write is the last one before a kill once.
        if _take(events, 1 + kills % 3) and kills < len(victims):
            component = victims[kills]
            kills += 1
            stage.suite.kill(component)
            # The killed process cannot release its lease, and no other process holds it.
            stage.cluster.kubectl("delete", "lease", component, "-n", NAMESPACE, "--ignore-not-found")
            stage.suite.start(component)
            _drain(events)
    print(f"{kills} kills, done after {time.monotonic() - began:.1f} seconds")


def _state(stage: Stage) -> str:
    kinds = ("operators", "bundledeployments", "bundles", "catalogs")
    return "\n".join(stage.cluster.kubectl("get", kind, "-o", "yaml") for kind in kinds)


def _take(events: "queue.Queue[Event]", count: int) -> bool:
    """Take that many events, waiting up to a second for each; returns whether there were any."""
    taken = 0
    try:
        while taken < count:
            events.get(timeout=1.0)
            taken += 1
    except queue.Empty:
        pass
    return taken > 0


def _drain(events: "queue.Queue[Event]") -> None:
    while not events.empty():
        events.get_nowait()


def _is_ready(stage: Stage, name: str, version: str) -> bool:
    columns = '{.status.installed.version} {.status.conditions[?(@.type=="Ready")].status} {.status.observedGeneration}'
    return stage.cluster.kubectl("get", "operator", name, "-o", f"jsonpath={columns}").startswith(f"{version} True")


@pytest.mark.crash
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "victims",
    [
        pytest.param(list(COMPONENTS), id="each once in each step"),
        *(pytest.param([each] * KILLS, id=each) for each in COMPONENTS),
    ],
)
def test_controllers_are_killed_while_an_operator_is_installed_updated_and_deleted(
    stage: Stage, victims: Sequence[str]
) -> None:
    name = stage.name
    with _writes(stage) as events:
        reference = _publish(stage, "hello-operator.v0.2.0", "hello-operator.v0.3.0").reference
        stage.catalog(reference)
        stage.operator(PACKAGE, name)
        _kill_until(stage, victims, events, lambda: _is_ready(stage, name, "0.1.0"))
        _publish(stage)
        _kill_until(stage, victims, events, lambda: _is_ready(stage, name, "0.2.0"))
        stage.cluster.kubectl("delete", "operator", name, "--wait=false")
        _kill_until(stage, victims, events, lambda: not stage.exists("operator", name))
    for leftover in (
        ("namespace", INSTALLED_INTO),
        ("crd", "greetings.hello.example.com"),
        ("bundledeployment", name),
    ):
        assert not stage.exists(*leftover), leftover
    assert f"name: {PACKAGE}" not in stage.cluster.kubectl("get", "clusterroles,clusterrolebindings", "-o", "name")
