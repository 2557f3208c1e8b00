"""Sources as specs of Catalogs have them, for tables of tests."""

from __future__ import annotations

from typing import Any

REPOSITORY, URL = "https://git.example/r", "https://files.example/c.tar.gz"
DIGEST = "sha256:" + "a" * 64
AUTH = {"auth": {"secret": {"name": "login"}, "insecureSkipVerify": True}}


def of_git(**changes: Any) -> dict[str, Any]:
    """A branch, with other fields of the member."""
    return {"type": "git", "git": {"repository": REPOSITORY, "ref": {"branch": "main"}, **changes}}


def of_http(**changes: Any) -> dict[str, Any]:
    """An archive, with other fields of the member."""
    return {"type": "http", "http": {"url": URL, **changes}}


def of_maps(*names: str) -> dict[str, Any]:
    """ConfigMaps."""
    return {"type": "configMaps", "configMaps": [{"configMap": {"name": name}} for name in names]}
