"""Questions about access, in the words of kubectl."""

from __future__ import annotations

import pytest

from console.access import Ask
from olmkit.api import operators
from olmkit.api.meta import Kind

SECRETS = Kind("", "v1", "Secret", "secrets", namespaced=True)
RESOURCE = "operators.operators.operatorframework.io"


@pytest.mark.parametrize(
    ("ask", "command", "refusal"),
    [
        pytest.param(
            Ask("create", operators.KIND),
            f"kubectl auth can-i create {RESOURCE}",
            f"You may not create {RESOURCE}.",
            id="all",
        ),
        pytest.param(
            Ask("patch", operators.KIND, name="x"),
            f"kubectl auth can-i patch {RESOURCE}/x",
            f"You may not patch {RESOURCE} x.",
            id="one",
        ),
        pytest.param(
            Ask("list", SECRETS, "team-a"),
            "kubectl auth can-i list secrets -n team-a",
            "You may not list secrets in namespace team-a.",
            id="a namespace",
        ),
        pytest.param(
            Ask("get", SECRETS, "a", "b", "status"),
            "kubectl auth can-i get secrets/b --subresource=status -n a",
            "You may not get secrets/status b in namespace a.",
            id="a subresource",
        ),
    ],
)
def test_a_question_is_said_as_kubectl_says_it(ask: Ask, command: str, refusal: str) -> None:
    assert (ask.command, ask.refusal) == (command, refusal)


def test_the_review_has_what_was_asked_and_nothing_empty() -> None:
    assert Ask("list", SECRETS, "a").spec() == {
        "resourceAttributes": {"verb": "list", "resource": "secrets", "namespace": "a"}
    }
