"""DNS rebinding with a real name server: the address is checked when the connection is made."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def seen(tmp_path: Path) -> dict[str, Any]:
    """The result of tests.integration.olmkit.sources.oci.rebinding."""
    if os.geteuid() != 0 or not (shutil.which("unshare") and shutil.which("ip")):
        pytest.skip("needs root, unshare and ip, for a name server of its own in a network of its own")
    program = [sys.executable, "-m", "tests.integration.olmkit.sources.oci.rebinding", str(tmp_path)]
    namespaces = ["unshare", "--net", "--mount", "--fork", "--kill-child"]
    done = subprocess.run([*namespaces, *program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads((tmp_path / "seen.json").read_text())
    return found


def test_the_address_is_checked_when_the_connection_is_made(seen: dict[str, Any]) -> None:
    def refused(name: str) -> str:
        why = "has the address 127.0.0.1, which is loopback: such addresses are refused unless --allow-source-cidr names them"
        return f"AddressRefused: registry {name}:8080 {why}"

    advice = "correct the reference, or push the image"
    found = f'ImageNotFound: image "NAME:8080/a:v1" not found: registry NAME:8080 has no such tag or repository (404): {advice}'
    assert seen["errors"] == {
        "rebind.test": [found.replace("NAME", "rebind.test"), refused("rebind.test")],
        "both.test": [refused("both.test")] * 2,
        "inside.test": [refused("inside.test")] * 2,
    }
    assert seen["hits"], "the first query was answered with the outside address"
    assert not [hit for hit in seen["hits"] if hit.startswith("127.")]
