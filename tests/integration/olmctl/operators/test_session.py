"""Commands with wrong names, with a kubeconfig that cannot be used, and without a cluster: a message and no traceback."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from devcluster.allocation import free_port
from olmctl.commands import FAILED, CommandError
from olmctl.main import main
from olmctl.operators.session import on_cluster
from olmctl.questions.session import Session
from olmkit.errors import NotFound

OPERATOR_COMMANDS = ("why", "tree", "upgrade", "approve", "uninstall")
COMMANDS = (
    ["search"],
    ["list"],
    *([each, "a"] for each in ("show", "install", "graph", *OPERATOR_COMMANDS)),
    ["why", "a", "--trace"],
    ["uninstall", "a", "--yes"],
)


@pytest.fixture
def away(tmp_path: Path) -> str:
    """A kubeconfig for a port that nothing listens on."""
    path = tmp_path / "kubeconfig"
    cluster = {"name": "c", "cluster": {"server": f"https://127.0.0.1:{free_port()}"}}
    context = {"name": "x", "context": {"cluster": "c", "user": "u"}}
    user = {"name": "u", "user": {"token": "t"}}
    config = {"apiVersion": "v1", "kind": "Config", "current-context": "x"}
    path.write_text(json.dumps({**config, "clusters": [cluster], "contexts": [context], "users": [user]}))
    return str(path)


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_no_cluster_answers(arguments: list[str], away: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments, "--kubeconfig", away]) == 1
    out, err = capsys.readouterr()
    start = "no answer from the API server (ClientConnectorError): is this the cluster that you mean?"
    assert (out, err.startswith(start), err.count("\n")) == ("", True, 1)


@pytest.mark.parametrize(
    ("second", "logged"),
    [
        pytest.param(NotFound(404, "NotFound", "no such object"), 0, id="another refusal is left out"),
        pytest.param(KeyError("uid"), 1, id="a fault of olm is not"),
    ],
)
def test_one_error_of_requests_at_the_same_time_is_printed(
    second: Exception, logged: int, away: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def first_request() -> None:
        raise CommandError(FAILED, "no kubeconfig")

    async def second_request() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise second

    async def both(session: Session) -> int:
        await asyncio.gather(second_request(), first_request())
        return 0

    with pytest.raises(CommandError, match="no kubeconfig"):
        on_cluster(both)(system_namespace="olm-suite-system", kubeconfig=away)
    assert len(caplog.records) == logged


@pytest.mark.parametrize("command", OPERATOR_COMMANDS)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("", id="no text"),
        pytest.param("a/status", id="a subresource"),
        pytest.param("a/../../packages/b", id="an object of another kind"),
        pytest.param("a?watch=1", id="a query"),
        pytest.param("A b", id="capitals and blanks"),
    ],
)
def test_what_is_no_name_of_an_operator_is_wrong_usage(
    command: str, name: str, away: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, name, "--kubeconfig", away])
    out, err = capsys.readouterr()
    assert (ended.value.code, out) == (2, "")
    assert f"Invalid value for 'OPERATOR': '{name}' is no name of an object: it" in err


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        pytest.param(["install", ""], "'PACKAGE': it is empty", id="install without a package"),
        pytest.param(["show", ""], "'PACKAGE': it is empty", id="show without a package"),
        pytest.param(["graph", ""], "'PACKAGE|OPERATOR': it is empty", id="graph without a package"),
        pytest.param(["install", "a", "--name", "a/b"], "'--name': 'a/b' is no name", id="a name for the Operator"),
        pytest.param(["list", "--system-namespace", "a/b"], "'--system-namespace': 'a/b' is no name", id="a namespace"),
        pytest.param(["why", "\x1b[31m"], "'OPERATOR': '\ufffd[31m' is no name", id="what controls a terminal"),
    ],
)
def test_wrong_names(arguments: list[str], text: str, away: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--kubeconfig", away])
    assert (ended.value.code, text in capsys.readouterr().err) == (2, True)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        pytest.param("just text", "cannot be used", id="text"),
        pytest.param("- a\n", "cannot be used", id="a list"),
        pytest.param("a: [", "cannot be used", id="no YAML"),
        pytest.param("{}", "cannot be used", id="nothing"),
        pytest.param("contexts: 1\ncurrent-context: x\n", "cannot be used", id="numbers"),
    ],
)
def test_a_kubeconfig_that_is_none(content: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(content)
    assert main(["list", "--kubeconfig", str(path)]) == 1
    assert text in capsys.readouterr().err


def test_no_kubeconfig_and_no_such_context(away: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--kubeconfig", str(tmp_path / "missing")]) == 1
    assert "there is no kubeconfig at" in capsys.readouterr().err
    assert main(["list", "--kubeconfig", away, "--context", "other"]) == 1
    assert "object with name other" in capsys.readouterr().err
