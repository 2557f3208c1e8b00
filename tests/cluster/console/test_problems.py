"""The page for each error of a handler."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

import pytest

from console.page import Answer, BadInput, NotThere, PageRequest
from console.routes import Route
from devcluster.cluster import Cluster
from olmctl.questions.errors import NothingFound, QuestionError, Refused
from olmkit.errors import ApiError, Conflict, Forbidden, Invalid, NotFound, Unavailable
from tests.cluster.console.conftest import Tokens
from tests.console import running_console

REFUSAL = (
    'operators.operators.operatorframework.io "x" is forbidden: User "anna" cannot patch resource "operators" in API group '
    '"operators.operatorframework.io" at the cluster scope'
)


def failing(error: Exception) -> Callable[[PageRequest], Awaitable[Answer]]:
    async def handler(_: PageRequest) -> Answer:
        raise error

    return handler


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        pytest.param(Forbidden(403, "Forbidden", REFUSAL), 403, "kubectl auth can-i patch operators", id="forbidden"),
        pytest.param(NotFound(404, "NotFound", "operators x not found"), 404, "operators x not found", id="not found"),
        pytest.param(NotThere("No operator x.", [("/operators/y", "y<b>")]), 404, "y&lt;b&gt;", id="similar names"),
        pytest.param(Conflict(409, "Conflict", "it was changed"), 409, "it was changed", id="conflict"),
        pytest.param(Invalid(422, "Invalid", "spec.x: <script>"), 400, "spec.x: &lt;script&gt;", id="invalid"),
        pytest.param(Unavailable(0, "NoAnswer", "no answer"), 503, "does not answer", id="API server away"),
        pytest.param(Unavailable(503, "x", "shutting down"), 503, "shutting down", id="API server is not ready"),
        pytest.param(ApiError(405, "x", "no method"), 503, "no method", id="another answer"),
        pytest.param(BadInput("version", "it is no version"), 400, "version: it is no version", id="bad input"),
        pytest.param(NothingFound("there is no package x"), 404, "there is no package x", id="absent"),
        pytest.param(Refused("it is managed already"), 409, "it is managed already", id="refused"),
        pytest.param(QuestionError("it is being deleted"), 400, "it is being deleted", id="not now"),
    ],
)
async def test_an_error_has_a_page(cluster: Cluster, tokens: Tokens, error: Exception, status: int, said: str) -> None:
    routes = [Route("GET", "/", failing(error))]
    async with running_console(str(cluster.kubeconfig), routes=routes) as browser:
        await browser.log_in(tokens.anna)
        answer = await browser.get("/")
    assert answer.status == status
    assert said in answer.text
    assert "<script>" not in answer.text


async def test_an_unexpected_error_has_an_id_that_the_log_has_too(
    cluster: Cluster, tokens: Tokens, caplog: pytest.LogCaptureFixture
) -> None:
    routes = [Route("GET", "/", failing(KeyError("an inner word")))]
    async with running_console(str(cluster.kubeconfig), routes=routes) as browser:
        await browser.log_in(tokens.anna)
        answer = await browser.get("/")
    assert answer.status == 500
    identity = answer.text.partition("<code>")[2].partition("</code>")[0]
    assert identity
    assert "an inner word" not in answer.text
    failures = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [vars(record)["id"] for record in failures] == [identity]
