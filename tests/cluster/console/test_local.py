"""`olm console` on a laptop: what it needs, prints and opens, how it ends, and who the person is by each kind of credentials."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from console.setup import LocalSettings, check, serve_locally
from devcluster.cluster import Cluster
from olmkit.errors import ApiError, OlmError
from tests.cluster.console.conftest import Tokens

LINK = re.compile(r"http://127\.0\.0\.1:(\d+)/login/[A-Za-z0-9_-]{43}\b")
BROWSER = """#!/bin/sh
echo $$ > "$0.pid"
echo "$1" >> "$0.links"
exec sleep 600 > /dev/null 2>&1
"""
"""A browser that runs until it is closed."""


def kubeconfig(cluster: Cluster, directory: Path, user: dict[str, Any] | None) -> Path:
    """The kubeconfig of the cluster, with other credentials if there are any."""
    found = yaml.safe_load(cluster.kubeconfig.read_text())
    if user is not None:
        found["users"][0]["user"] = user
    path = directory / "kubeconfig"
    path.write_text(json.dumps(found))
    return path


def olm_console(path: Path, *flags: str, browser: str = "") -> subprocess.Popen[str]:
    """The command, as a process of its own."""
    command = [sys.executable, "-m", "olmctl", "console", "--kubeconfig", str(path), *flags]
    environment = {**os.environ, "BROWSER": browser}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


async def user_behind(link: str) -> str:
    """The name of the user in the pages that a link leads to; the link works once."""
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
        async with http.get(link, allow_redirects=False) as opened:
            assert (opened.status, opened.headers["Location"]) == (303, "/")
        async with http.get(link.partition("/login")[0] + "/suite", headers={"Sec-Fetch-Site": "none"}) as page:
            text = await page.text()
    async with aiohttp.ClientSession() as other, other.get(link, allow_redirects=False) as again:
        assert again.status == 401
    found = re.search('aria-label="Account: ([^"]*)"', text)
    assert found is not None, text
    return found[1]


async def test_it_opens_the_browser_and_ends_with_ctrl_c(cluster: Cluster, tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text(BROWSER)
    browser.chmod(0o755)
    process = olm_console(kubeconfig(cluster, tmp_path, None), browser=str(browser))
    assert process.stdout is not None
    printed = process.stdout.readline()
    link = LINK.search(printed)
    assert link is not None, printed or process.communicate()
    deadline = time.monotonic() + 20
    opened = tmp_path / "browser.links"
    while not (opened.exists() and opened.read_text().endswith("\n")) and time.monotonic() < deadline:  # noqa: ASYNC110 a file
        await asyncio.sleep(0.05)
    assert opened.read_text() == f"{link[0]}\n"
    assert "admin" in await user_behind(link[0])
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    os.kill(int((tmp_path / "browser.pid").read_text()), signal.SIGKILL)  # it is still open
    assert (process.returncode, out) == (0, ""), err
    assert "Traceback" not in err


@contextlib.contextmanager
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def test_a_port_that_is_taken_is_named(cluster: Cluster, tmp_path: Path) -> None:
    with taken_port() as port:
        process = olm_console(kubeconfig(cluster, tmp_path, None), "--no-open", "--port", str(port))
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (1, "")
    assert f"127.0.0.1:{port}" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("kind", ["a client certificate", "a token", "an exec plugin"])
async def test_the_person_is_who_the_kubeconfig_says(
    cluster: Cluster, tokens: Tokens, tmp_path: Path, kind: str
) -> None:
    plugin = tmp_path / "plugin"
    credential = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": tokens.ben},
    }
    plugin.write_text(f"#!/bin/sh\necho '{json.dumps(credential)}'\n")
    plugin.chmod(0o755)
    run = {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin), "interactiveMode": "Never"}
    users = {"a client certificate": None, "a token": {"token": tokens.anna}, "an exec plugin": {"exec": run}}
    expected = {"a client certificate": "admin", "a token": ":anna", "an exec plugin": ":ben"}
    settings = LocalSettings(str(kubeconfig(cluster, tmp_path, users[kind])))
    await check(settings)
    async with serve_locally(settings) as link:
        assert LINK.fullmatch(link)
        assert expected[kind] in await user_behind(link)


@pytest.mark.parametrize(
    ("user", "message"),
    [
        ({"token": "abc.def.ghi"}, "does not accept the credentials of the kubeconfig"),
        (
            {
                "exec": {
                    "apiVersion": "client.authentication.k8s.io/v1",
                    "command": "/nowhere",
                    "interactiveMode": "Never",
                }
            },
            "/nowhere",
        ),
    ],
    ids=["a token that is not valid", "an exec plugin that does not exist"],
)
async def test_credentials_that_do_not_work_are_said_before_a_browser_is_opened(
    cluster: Cluster, tmp_path: Path, user: dict[str, Any], message: str
) -> None:
    with pytest.raises((ApiError, OlmError), match=message):
        await check(LocalSettings(str(kubeconfig(cluster, tmp_path, user))))


async def test_a_cluster_that_is_away_is_said_before_a_browser_is_opened(cluster: Cluster, tmp_path: Path) -> None:
    path = kubeconfig(cluster, tmp_path, None)
    found = yaml.safe_load(path.read_text())
    found["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    path.write_text(json.dumps(found))
    with pytest.raises(ApiError, match=r"127\.0\.0\.1:1|no answer"):
        await check(LocalSettings(str(path)))
