"""Kubeconfig texts."""

import base64
from typing import Any

import pytest
import yaml

from devcluster.kubeconfig import render


@pytest.mark.parametrize(
    ("authority", "expected"),
    [
        pytest.param(
            b"PEM",
            {"certificate-authority-data": base64.b64encode(b"PEM").decode()},
            id="a private CA is embedded",
        ),
        pytest.param(None, {}, id="a server with a public certificate has no CA"),
    ],
)
def test_the_current_context_has_server_and_token(authority: bytes | None, expected: dict[str, str]) -> None:
    config: Any = yaml.safe_load(render("https://127.0.0.1:21001", authority, "secret", "catalogd"))
    (context,) = [entry["context"] for entry in config["contexts"] if entry["name"] == config["current-context"]]
    (found,) = [entry["cluster"] for entry in config["clusters"] if entry["name"] == context["cluster"]]
    (user,) = [entry["user"] for entry in config["users"] if entry["name"] == context["user"]]
    assert found == {"server": "https://127.0.0.1:21001", **expected}
    assert user == {"token": "secret"}
