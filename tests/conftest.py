"""Fixtures of all tests: the cluster of the session, programs written in Go, and the corpus of real packages.

Tests that use none of them require neither Go nor a network. There are no mocks.
"""

import gc
import itertools
import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from xdist.remote import Producer

from devcluster import programs
from devcluster.cluster import Cluster, ClusterOptions, start
from devcluster.corpus import default_directory, open_corpus, open_dependency_corpus, open_verdicts
from devcluster.errors import DevclusterError
from devcluster.optional_programs import OPTIONAL_PROGRAMS, optional_program
from tests.file_scheduling import FileScheduling

# Ten thousand tests are collected, and none of them is garbage: pytest_collection_finish() turns the collector on again.
gc.disable()

LONG_TIERS = ("console", "crash", "hostile", "scale", "v1")
"""Markers of tests that are not part of `make test`."""
LONG_FILES = ("tests/cluster/olmctl/suite/", "tests/e2e/test_docs.py")
"""What one process takes minutes for."""
_OBJECTS_BETWEEN_COLLECTIONS = 20_000
"""Objects that are made before the garbage collector runs. With the default, 700, it takes a tenth of the time of pure tests."""
_BUILD_FAILED = pytest.StashKey[str]()
_OPTIONAL_BUILDS_FAILED = pytest.StashKey[dict[str, str]]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first, so that at the end no process runs one while the others have nothing to do.

    Refuses a test of two long tiers, which would be run twice.
    """
    items.sort(key=lambda item: not item.nodeid.startswith(LONG_FILES))
    twice = [item.nodeid for item in items if sum(item.get_closest_marker(tier) is not None for tier in LONG_TIERS) > 1]
    if twice:
        raise pytest.UsageError(f"marked with more than one of {', '.join(LONG_TIERS)}: {', '.join(twice)}")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FileScheduling | None:
    """Let the processes that share files keep their clusters."""
    return FileScheduling(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build the programs that the tests use before the first one, because the timeout of a test does not apply to a build."""
    config = session.config
    if config.option.collectonly:
        return
    # The garbage collector would examine the collected tests again and again.
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    gc.enable()
    fixtures = {name for item in session.items for name in getattr(item, "fixturenames", ())}
    failed = config.stash.setdefault(_OPTIONAL_BUILDS_FAILED, {})
    capture = config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        if "cluster_programs" in fixtures or ("cluster" in fixtures and not os.environ.get("OLM_KUBECONFIG")):
            try:
                programs.find_or_build(_print)
            except DevclusterError as error:
                config.stash[_BUILD_FAILED] = str(error)
        for name in OPTIONAL_PROGRAMS:
            if _fixture_name(name) in fixtures:
                try:
                    optional_program(name, _print)
                except DevclusterError as error:
                    failed[name] = str(error)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how long the tests of each tier took: the sum over all processes, with fixtures."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for report in itertools.chain(*terminalreporter.stats.values()):
        if isinstance(report, pytest.TestReport):
            seconds[report.nodeid.split("/")[1]] += report.duration
    if len(seconds) > 1:
        texts = [f"{tier} {taken:.0f} s" for tier, taken in sorted(seconds.items())]
        terminalreporter.write_line(f"Time of the tests over all processes: {', '.join(texts)}")


def _print(line: str) -> None:
    print(line, flush=True)


def _fixture_name(program: str) -> str:
    """The name of the fixture of a program of OPTIONAL_PROGRAMS."""
    return f"{program.replace('-', '_')}_program"


def _program_fixture(name: str) -> Callable[..., object]:
    @pytest.fixture(scope="session", name=_fixture_name(name))
    def program(pytestconfig: pytest.Config) -> Path:
        """The executable. A test that uses it, or a fixture that does, has it built before the first test."""
        if message := pytestconfig.stash[_OPTIONAL_BUILDS_FAILED].get(name):
            pytest.fail(message, pytrace=False)
        return optional_program(name)

    return program


cert_manager_program = _program_fixture("cert-manager")
coredns_program = _program_fixture("coredns")
cosign_program = _program_fixture("cosign")
argocd_program = _program_fixture("argocd")
helm_program = _program_fixture("helm")
kustomize_controller_program = _program_fixture("kustomize-controller")
prometheus_program = _program_fixture("prometheus")
promtool_program = _program_fixture("promtool")


@pytest.fixture(scope="session")
def cluster_programs(pytestconfig: pytest.Config) -> Path:
    """The directory with the programs of the development cluster, for tests that run one of them without a cluster."""
    found = programs.find(lambda line: None)
    if found is None:
        pytest.fail(pytestconfig.stash.get(_BUILD_FAILED, "the cluster's programs are not built"), pytrace=False)
    return found


@pytest.fixture(scope="session")
def cluster(pytestconfig: pytest.Config) -> Iterator[Cluster]:
    """A real cluster for the whole session: a new one, or that of OLM_KUBECONFIG. Tests use unique names in it."""
    with running_cluster(pytestconfig) as running:
        yield running


def running_cluster(config: pytest.Config) -> Cluster:
    """Start the cluster of a fixture, which ends it as a context manager. Fails the test if it cannot be started."""
    if _BUILD_FAILED in config.stash:
        pytest.fail(config.stash[_BUILD_FAILED], pytrace=False)
    try:
        return start(ClusterOptions.from_environment(f"test-{os.getpid()}"), print)
    except DevclusterError as error:
        if os.environ.get("OLM_KUBECONFIG"):
            # The cluster of OLM_KUBECONFIG cannot be used, so every test would fail with the same error.
            pytest.exit(f"The cluster of OLM_KUBECONFIG cannot be used: {error}", returncode=1)
        pytest.fail(str(error), pytrace=False)


@pytest.fixture(scope="session")
def corpus() -> Path:
    """A directory with catalog/ and bundles/ of real packages; skips if there is none, unless OLM_CORPUS is set."""
    try:
        return open_corpus(default_directory())
    except DevclusterError as error:
        if os.environ.get("OLM_CORPUS"):
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def verdicts() -> Path:
    """A directory with what upstream's validators say of bundles, and with faulty bundles; skips if there is none."""
    try:
        return open_verdicts(default_directory())
    except DevclusterError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def dependency_corpus() -> Path:
    """A directory with catalog/ and bundles/ of real packages that require others; skips if there is none."""
    try:
        return open_dependency_corpus(default_directory())
    except DevclusterError as error:
        pytest.skip(str(error))
