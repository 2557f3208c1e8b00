"""Access is passed to a job completely; invalid configuration is reported before a job starts."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from olmkit.errors import Blocked
from olmkit.jobs import codec
from olmkit.jobs.job import Job, Task
from olmkit.sources.access import Access
from olmkit.sources.credentials import credentials_of
from olmkit.sources.network import Timeouts
from tests.secrets import auth, docker_config

CREDENTIALS = credentials_of(docker_config({"quay.io": auth("u", "Sesame")}))
FULL = Access(
    Path("/etc/registries.conf"), Path("/etc/ca"), ("127.0.0.0/8",), ("10.0.0.1:443",), CREDENTIALS, Timeouts(connect=3)
)


@pytest.mark.parametrize("access", [FULL, Access()], ids=["everything", "nothing"])
def test_access_is_passed_to_a_job_as_json(access: Access) -> None:
    assert codec.decode(Access, orjson.loads(orjson.dumps(codec.encode(access)))) == access


def test_no_repr_contains_a_secret() -> None:
    task = Task(Job("a:b", Access, Access), FULL)
    for shown in (repr(FULL), str(FULL), repr(task), f"{task}"):
        assert "Sesame" not in shown
        assert auth("u", "Sesame")["auth"] not in shown


def test_registries_have_the_configuration_and_credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    (tmp_path / "registries.conf").write_text('[[registry]]\nlocation = "quay.io"\n')
    access = Access(tmp_path / "registries.conf", tmp_path, ("127.0.0.0/8",), timeouts=Timeouts(connect=3))
    registries = access.with_credentials(CREDENTIALS).registries()
    assert [rule.prefix for rule in registries.rules] == ["quay.io"]
    assert registries.addresses.refusal_of_address("127.0.0.1", 1) is None
    assert registries.credentials == CREDENTIALS
    assert registries.timeouts.connect == 3
    assert registries.proxies.choose("https", "quay.io", 443) is not None
    assert registries.tokens == {}
    assert access.registries().tokens is not registries.tokens, "jobs do not share tokens"


@pytest.mark.parametrize(
    ("access", "words"),
    [
        pytest.param(Access(Path("/no/such/file")), "/no/such/file cannot be read", id="registries.conf"),
        pytest.param(Access(None, Path("/no/such/directory")), "/no/such/directory cannot be read", id="authorities"),
        pytest.param(Access(allowed_cidrs=("ten",)), "--allow-source-cidr", id="a CIDR"),
    ],
)
def test_invalid_configuration_is_reported(access: Access, words: str) -> None:
    with pytest.raises(Blocked) as raised:
        access.check()
    assert raised.value.reason == "InvalidConfiguration"
    assert words in raised.value.message


def test_an_invalid_proxy_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "socks5://proxy:1")
    with pytest.raises(Blocked, match="HTTP_PROXY is not the URL of a proxy"):
        Access().check()
