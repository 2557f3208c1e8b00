"""Logins of docker and podman: their files, and credential helpers as real programs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from olmctl import registry_logins
from olmctl.registry_logins import login_hint, stored_logins
from olmkit.errors import Blocked
from tests.secrets import auth

HOST = "registry.example.com:5000"


class Home:
    """A home directory with a docker config and programs."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("REGISTRY_AUTH_FILE", "DOCKER_CONFIG", "XDG_RUNTIME_DIR"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", str(directory))
        monkeypatch.setenv("PATH", str(directory / "bin"))
        self._directory = directory
        self.asked = directory / "asked"
        (directory / ".docker").mkdir()
        (directory / "bin").mkdir()

    def config(self, **document: Any) -> None:
        """Write the docker config."""
        (self._directory / ".docker" / "config.json").write_text(json.dumps(document))

    def helper(self, name: str, output: str, status: int = 0, *, is_endless: bool = False) -> None:
        """Write a helper that prints this, once or without end."""
        program = self._directory / "bin" / f"docker-credential-{name}"
        program.write_text(
            f"#!{sys.executable}\n"
            "import sys\n"
            f"open({str(self.asked)!r}, 'a').write(' '.join([*sys.argv[1:], sys.stdin.read()]) + '\\n')\n"
            f"{'while True: ' * is_endless}print({output!r})\n"
            "print('a s3cret on stderr', file=sys.stderr)\n"
            f"sys.exit({status})\n"
        )
        program.chmod(0o755)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    return Home(tmp_path, monkeypatch)


def login(host: str = HOST) -> tuple[str, str, str] | None:
    """User, password and identity token."""
    found = stored_logins([host]).for_registry(host, "team/app")
    return (found.user, found.password, found.identity_token) if found else None


def given(user: str, secret: str) -> str:
    return json.dumps({"ServerURL": "x", "Username": user, "Secret": secret})


def test_a_helper_of_a_registry_comes_before_the_one_for_all_and_before_the_file(home: Home) -> None:
    home.helper("own", given("of-own", "s1"))
    home.helper("all", given("of-all", "s2"))
    home.config(
        auths={HOST: auth("of-file", "s3"), "quay.io": auth("q", "s4")}, credHelpers={HOST: "own"}, credsStore="all"
    )
    assert login() == ("of-own", "s1", "")
    assert home.asked.read_text().splitlines() == [f"get {HOST}"]
    assert login("ghcr.io") == ("of-all", "s2", "")


def test_the_file_is_used_if_a_helper_has_no_login(home: Home) -> None:
    home.helper("all", "credentials not found in native keychain", status=1)
    home.config(auths={HOST: auth("of-file", "s3"), "ghcr.io": {}}, credsStore="all")
    assert login() == ("of-file", "s3", "")
    assert login("ghcr.io") is None


def test_a_helper_for_all_registries_that_is_not_installed_is_named_only_if_a_login_is_missing(home: Home) -> None:
    home.config(auths={HOST: auth("of-file", "s3")}, credsStore="desktop")
    assert (login(), login("ghcr.io")) == (("of-file", "s3", ""), None)
    assert "docker-credential-desktop, which it names, is not installed" in login_hint()
    home.helper("desktop", given("u", "p"))
    assert "desktop" not in login_hint()


def test_a_token_of_a_helper(home: Home) -> None:
    home.helper("all", given("<token>", "t0ken"))
    home.config(credsStore="all")
    assert login() == ("", "", "t0ken")


@pytest.mark.parametrize("key", ["docker.io", "index.docker.io", "https://index.docker.io/v1/"])
def test_docker_hub_has_several_names(key: str, home: Home) -> None:
    home.helper("hub", given("u", "p"))
    home.config(credHelpers={key: "hub"})
    assert login("registry-1.docker.io") == ("u", "p", "")
    assert home.asked.read_text().splitlines() == ["get https://index.docker.io/v1/"]


def test_no_helper_is_asked_for_other_registries(home: Home) -> None:
    home.helper("own", given("u", "p"))
    home.config(credHelpers={"quay.io": "own"})
    assert login() is None
    assert not home.asked.exists()


@pytest.mark.parametrize(
    ("name", "output", "status", "words"),
    [
        pytest.param("none", None, 0, "is not installed", id="not installed"),
        pytest.param("../evil", None, 0, "which is no name of a program", id="a path"),
        pytest.param("bad", "a s3cret", 2, "ended with exit status 2: run `echo", id="it fails"),
        pytest.param("bad", "a s3cret", 0, "printed no Username and Secret", id="no JSON"),
        pytest.param("bad", '{"Username": "u", "Secret": 7}', 0, "printed no Username and Secret", id="no text"),
    ],
)
def test_a_helper_that_fails_is_named_and_its_output_is_not_shown(
    name: str, output: str | None, status: int, words: str, home: Home
) -> None:
    if output is not None:
        home.helper(name, output, status)
    home.config(credHelpers={HOST: name})
    with pytest.raises(Blocked, match=words) as raised:
        login()
    assert "s3cret" not in str(raised.value)
    assert str(home.asked.parent / ".docker" / "config.json") in str(raised.value)


def test_a_helper_that_prints_without_end_is_ended(home: Home) -> None:
    home.helper("endless", "a s3cret", is_endless=True)
    home.config(credHelpers={HOST: "endless"})
    with pytest.raises(Blocked, match="prints more than 1,048,576 bytes, which is no login") as raised:
        login()
    assert "s3cret" not in str(raised.value)


def test_a_helper_that_never_ends_is_ended(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry_logins, "HELPER_SECONDS", 0.5)
    program = home.asked.parent / "bin" / "docker-credential-slow"
    program.write_text(f"#!{sys.executable}\nimport time\ntime.sleep(60)\n")
    program.chmod(0o755)
    home.config(credHelpers={HOST: "slow"})
    with pytest.raises(Blocked, match=r"docker-credential-slow, .* has not ended within 0\.5 seconds"):
        login()
