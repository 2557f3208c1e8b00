"""Processes that are started, asked until they answer, and stopped."""

from __future__ import annotations

import signal
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from devcluster.errors import DevclusterError
from devcluster.services import Services, accepts, answers, free_address, port_of, request

STUBBORN = """
import signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("deaf", flush=True)
signal.pause()
"""


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    with Services(tmp_path / "logs") as running:
        yield running


def run(services: Services, name: str, program: str) -> None:
    services.launch(name, sys.executable, ["-c", textwrap.dedent(program)])


def test_a_server_is_asked_until_it_answers_and_stopped(services: Services, tmp_path: Path) -> None:
    address = free_address()
    (tmp_path / "page.txt").write_text("hello")
    assert not accepts(address)
    assert not answers(address, "/page.txt")
    arguments = ["-m", "http.server", port_of(address), "--bind", "127.0.0.1", "--directory", str(tmp_path)]
    services.launch("web", sys.executable, arguments)
    services.until("web", "ready", lambda: answers(address, "/page.txt"))
    assert accepts(address)
    assert not answers(address, "/missing.txt")
    assert request(address, "GET", "/page.txt") == (200, "hello")
    assert request(address, "POST", "/page.txt", "{}", {"Content-Type": "application/json"})[0] == 501
    assert "/missing.txt" in services.log_tail("web")
    assert services.is_running("web")
    services.stop()
    assert not services.is_running("web")
    assert services.exit_code("web") == -signal.SIGTERM
    assert not accepts(address)


def test_a_process_that_ends_is_reported_at_once_with_the_end_of_its_log(services: Services) -> None:
    run(services, "broken", "import sys; [print('line', n) for n in range(100)]; sys.exit('no configuration')")
    with pytest.raises(DevclusterError, match=r"^broken ended with exit code 1\. Its log ends:\n") as raised:
        services.until("broken", "ready", lambda: False, seconds=600)
    assert str(raised.value).endswith("line 99\nno configuration")
    assert "line 1\n" not in str(raised.value)


def test_a_process_that_does_not_answer_is_reported_with_the_end_of_its_log(services: Services) -> None:
    run(services, "slow", "import signal; print('waits', flush=True); signal.pause()")
    services.until("slow", "in its log", lambda: services.log_tail("slow"))
    with pytest.raises(DevclusterError, match=r"^slow is not ready after 0 seconds\. Its log ends:\nwaits$"):
        services.until("slow", "ready", lambda: False, seconds=0)


def test_a_process_that_ignores_sigterm_is_killed_and_named(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("devcluster.services._STOP_SECONDS", 2.0)
    run(services, "stubborn", STUBBORN)
    run(services, "obedient", "import signal; signal.pause()")
    services.until("stubborn", "deaf", lambda: services.log_tail("stubborn"))
    with pytest.raises(DevclusterError, match=r"^stubborn did not end within 2 seconds of SIGTERM and was killed"):
        services.stop()
    assert services.exit_code("stubborn") == -signal.SIGKILL
    assert services.exit_code("obedient") == -signal.SIGTERM


def test_a_name_is_started_again_with_the_same_log(services: Services) -> None:
    for printed, log in (("first", "first"), ("second", "first\nsecond")):
        run(services, "one", f"print('{printed}')")
        with pytest.raises(DevclusterError, match=f"exit code 0. Its log ends:\n{log}$"):
            services.until("one", "ready", lambda: False)
