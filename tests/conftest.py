"""Fixtures of all tests: the cluster of the session and the corpus of real packages.

Tests that use neither require neither Go nor a network. There are no mocks.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from devcluster import programs
from devcluster.cluster import Cluster, ClusterOptions, start
from devcluster.corpus import default_folder, open_corpus, open_dependency_corpus
from devcluster.errors import DevclusterError

_BUILD_FAILED = pytest.StashKey[str]()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build the programs of the cluster before the first test, because the timeout of a test does not apply to a build."""
    config = session.config
    fixtures = {name for item in session.items for name in getattr(item, "fixturenames", ())}
    wanted = "cluster_programs" in fixtures or ("cluster" in fixtures and not os.environ.get("OLM_KUBECONFIG"))
    if not wanted or config.option.collectonly:
        return
    capture = config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        try:
            programs.find_or_build(lambda line: print(line, flush=True))
        except DevclusterError as error:
            config.stash[_BUILD_FAILED] = str(error)


@pytest.fixture(scope="session")
def cluster_programs(pytestconfig: pytest.Config) -> Path:
    """The folder with the programs of the development cluster, for tests that run one of them without a cluster."""
    found = programs.find(lambda line: None)
    if found is None:
        pytest.fail(pytestconfig.stash.get(_BUILD_FAILED, "the cluster's programs are not built"), pytrace=False)
    return found


@pytest.fixture(scope="session")
def cluster(pytestconfig: pytest.Config) -> Iterator[Cluster]:
    """A real cluster for the whole session: a new one, or that of OLM_KUBECONFIG. Tests use unique names in it."""
    if _BUILD_FAILED in pytestconfig.stash:
        pytest.fail(pytestconfig.stash[_BUILD_FAILED], pytrace=False)
    try:
        running = start(ClusterOptions.from_environment(f"test-{os.getpid()}"), print)
    except DevclusterError as error:
        if os.environ.get("OLM_KUBECONFIG"):
            # The cluster of OLM_KUBECONFIG cannot be used, so every test would fail with the same error.
            pytest.exit(f"The cluster of OLM_KUBECONFIG cannot be used: {error}", returncode=1)
        pytest.fail(str(error), pytrace=False)
    with running:
        yield running


@pytest.fixture(scope="session")
def corpus() -> Path:
    """A folder with catalog/ and bundles/ of real packages; skips if there is none, unless OLM_CORPUS is set."""
    try:
        return open_corpus(default_folder())
    except DevclusterError as error:
        if os.environ.get("OLM_CORPUS"):
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def dependency_corpus() -> Path:
    """A folder with catalog/ and bundles/ of real packages that require others; skips if there is none."""
    try:
        return open_dependency_corpus(default_folder())
    except DevclusterError as error:
        pytest.skip(str(error))
