"""docs/catalogd-http.md: every curl command in it is run, against the sample catalog over HTTPS, and prints what is shown."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from catalogd.keeping.shelf import Shelf
from catalogd.reading.writing import Writer
from catalogd.serving.routes import ROUTES
from catalogd.world import Record
from olmkit.fbc.reading import read_folder
from olmkit.serving.authority import create
from olmkit.store import Store
from tests.cluster.catalogd.serving.test_encoding import encoding, until_made
from tests.cluster.catalogd.site import DIGEST, UNPACKED, serving

REPOSITORY = Path(__file__).parents[3]
PAGE = (REPOSITORY / "docs" / "catalogd-http.md").read_text()
_BLOCK = re.compile(r"```sh\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)
BLOCKS = _BLOCK.findall(PAGE)
RUN = [(commands, shown) for commands, shown in BLOCKS if "kubectl" not in commands]


@pytest.fixture
async def environment(tmp_path: Path) -> AsyncIterator[dict[str, str]]:
    """What the first block of the page sets, for a server with the sample catalog, compressed."""
    shelf = Shelf(tmp_path / "cache")
    with Store(shelf.folder).publish(DIGEST) as folder, Writer(folder, DIGEST) as writer:
        for blob in read_folder(REPOSITORY / "config" / "samples" / "catalog"):
            writer.add(blob)
        writer.finish()
    await shelf.put("c", Record("r/c:v1", f"r/c@{DIGEST}", DIGEST, UNPACKED))
    material = create(["localhost"], datetime.now(UTC))
    pair = tmp_path / "pair.pem"
    pair.write_bytes(material.leaf.chain + material.leaf.key)
    (tmp_path / "ca.crt").write_bytes(material.bundle())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair)
    async with encoding(tmp_path, shelf) as encodings, serving(shelf, encodings, context) as site:
        await until_made(encodings)
        address = f"https://localhost:{site.port}/catalogs/c"
        yield {**os.environ, "CATALOG": address, "CURL_CA_BUNDLE": str(tmp_path / "ca.crt")}


async def test_the_commands_say_what_the_page_shows(environment: dict[str, str], tmp_path: Path) -> None:
    """One shell after the other in one folder, as a reader has it."""
    if missing := [name for name in ("bash", "curl", "jq") if shutil.which(name) is None]:
        pytest.skip(f"the page's commands need {', '.join(missing)}")
    folder = tmp_path / "reader"
    folder.mkdir()
    for commands, shown in RUN:
        shell = await asyncio.create_subprocess_exec(
            *("bash", "-euo", "pipefail", "-c", commands),
            cwd=folder,
            env=environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        printed, _ = await shell.communicate()
        assert shell.returncode == 0, f"{commands}\n{printed.decode()}"
        assert printed.decode() == shown, commands


def test_only_what_needs_a_cluster_is_not_run() -> None:
    left = [commands for commands, _ in BLOCKS if "kubectl" in commands]
    assert len(left) == 2
    assert all(shown for _, shown in RUN)


def test_the_page_names_every_path_and_parameter() -> None:
    for route in ROUTES:
        path = route.path.removeprefix("/catalogs/{catalog}").replace("{package}", "<package>")
        assert f"`{path}" in PAGE
        assert all(parameter.name in PAGE for parameter in route.parameters)
