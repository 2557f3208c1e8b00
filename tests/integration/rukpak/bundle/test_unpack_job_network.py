"""The unpack job behind a proxy and with servers that a private authority has certified, as clusters of companies have them."""

from __future__ import annotations

from pathlib import Path

import pytest

from olmkit.errors import Waiting
from olmkit.sources.access import Access
from olmkit.sources.source import GitReference, GitSource, HttpSource, RefKind, Source
from tests.images import tar
from tests.integration.rukpak.bundle.source_unpacker import SourceUnpacker, config_map
from tests.servers.certificates import Authority
from tests.servers.forward_proxy import ForwardProxy
from tests.servers.git_http_server import GitServer, Repository
from tests.servers.web_server import WebServer

HOST = "files.example"
MANIFESTS = {"manifests/a.yaml": config_map("one")}
LOGIN = "me:s3cret"


@pytest.mark.parametrize(
    ("server_type", "source"),
    [
        pytest.param(WebServer, HttpSource(f"https://{HOST}/a"), id="an archive"),
        pytest.param(
            GitServer, GitSource(f"https://{HOST}/a.git", GitReference(RefKind.BRANCH, "main")), id="a repository"
        ),
    ],
)
async def test_the_proxy_and_the_authority_of_the_cluster_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server_type: type[WebServer], source: Source
) -> None:
    """No name of the server resolves here: only the proxy can reach it."""
    served, authority = tmp_path / "served", Authority()
    repository = Repository(served / "a.git")
    repository.commit(dict(MANIFESTS))
    (served / "a").write_bytes(tar(MANIFESTS))
    async with (
        server_type(served, tls=authority.server_context(tmp_path, HOST)) as server,
        ForwardProxy({f"{HOST}:443": server.address}, login=LOGIN).running() as proxy,
    ):
        monkeypatch.setenv("HTTPS_PROXY", f"http://{LOGIN}@{proxy.address}")
        trusting = SourceUnpacker(tmp_path / "a", Access(ca_directory=authority.directory(tmp_path)))
        strict = SourceUnpacker(tmp_path / "b", Access())
        try:
            found = await trusting.unpack(source)
            assert trusting.names(found) == ["one"]
            with pytest.raises(Waiting, match="presents a certificate that is not trusted") as caught:
                await strict.unpack(source)
            assert "s3cret" not in caught.value.message
        finally:
            await trusting.jobs.close()
            await strict.jobs.close()
    assert set(proxy.requests) == {f"CONNECT {HOST}:443 HTTP/1.1"}
