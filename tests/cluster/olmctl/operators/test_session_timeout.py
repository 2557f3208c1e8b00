"""`--timeout` of the commands that wait, in front of an API server that does not answer."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from devcluster.cluster import Cluster
from olmctl.main import main
from tests.cluster import proxy

IMAGE = "example.com/a:v1"


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("install", "a", "--wait"), id="install"),
        pytest.param(("upgrade", "a", "--wait"), id="upgrade"),
        pytest.param(("approve", "a", "--wait"), id="approve"),
        pytest.param(("uninstall", "a", "--yes", "--wait"), id="uninstall"),
        pytest.param(("suite", "install", "--image", IMAGE), id="suite install"),
        pytest.param(("suite", "uninstall", "--orphan", "--yes"), id="suite uninstall"),
    ],
)
async def test_a_command_ends_when_the_api_server_does_not_answer(
    arguments: tuple[str, ...], definitions: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with proxy.run(definitions.kubeconfig, tmp_path) as silent:
        silent.silence()
        options = ["--timeout", "1s", "--kubeconfig", str(silent.kubeconfig)]
        status = await asyncio.to_thread(main, [*arguments, *options])
    # A request that its own limit ends, after thirty seconds, has another message and another status.
    assert (status, *capsys.readouterr()) == (4, "", "not within 1 seconds: the API server does not answer\n")
