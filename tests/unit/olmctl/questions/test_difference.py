"""What `olm diff` says of a request that is refused: the difference is about another version."""

from __future__ import annotations

from typing import Any

import pytest

from olmctl.questions.difference import refused_request


@pytest.mark.parametrize(
    ("status", "generation", "text"),
    [
        pytest.param(
            "False",
            2,
            "a requests what is refused, and this is not about it: 2.0.0 cannot be reached (olm why a)",
            id="a pin that is refused",
        ),
        pytest.param("True", 2, "", id="one that is resolved"),
        pytest.param("False", 3, "", id="one that was not resolved yet"),
    ],
)
def test_a_refused_request_is_named(status: str, generation: int, text: str) -> None:
    resolved = {"type": "Resolved", "status": status, "message": "2.0.0 cannot be reached"}
    found: dict[str, Any] = {
        "metadata": {"name": "a", "generation": generation},
        "status": {"observedGeneration": 2, "conditions": [resolved]},
    }
    assert refused_request(found) == text
