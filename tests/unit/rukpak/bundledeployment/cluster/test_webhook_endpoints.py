"""Which Service answers for a webhook, and whether an EndpointSlice has an endpoint."""

from __future__ import annotations

from typing import Any

import pytest

from rukpak.bundledeployment.cluster.webhook_endpoints import has_endpoint, service_of


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        pytest.param({"service": {"namespace": "n", "name": "s", "port": 443}}, ("n", "s"), id="a Service"),
        pytest.param({"url": "https://example.com"}, None, id="a URL"),
        pytest.param(None, None, id="nothing"),
        pytest.param({"service": {"name": "s"}}, None, id="half a Service"),
    ],
)
def test_the_service_that_answers(config: Any, expected: tuple[str, str] | None) -> None:
    assert service_of({"name": "w", "clientConfig": config}) == expected


@pytest.mark.parametrize(
    ("endpoints", "expected"),
    [
        pytest.param([{"conditions": {"ready": True}}], True, id="one that is ready"),
        pytest.param([{"conditions": {"ready": False}}, {"conditions": {"ready": True}}], True, id="one of two"),
        pytest.param([{}], True, id="one without conditions"),
        pytest.param([{"conditions": {"ready": False}}], False, id="one that is not ready"),
        pytest.param(None, False, id="none"),
    ],
)
def test_an_endpoint_that_answers(endpoints: Any, expected: bool) -> None:
    assert has_endpoint({"endpoints": endpoints}) is expected
