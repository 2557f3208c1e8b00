"""docs/catalog-authoring.md: its commands run in order, and print what it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[5]
PAGE = (REPOSITORY / "docs" / "catalog-authoring.md").read_text()
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def block(language: str, start: str) -> str:
    """The one block of that language that begins so."""
    (found,) = [text for of, text in _BLOCK.findall(PAGE) if of == language and text.startswith(start)]
    return str(found)


def run(commands: str, folder: Path) -> str:
    """What a shell prints where `python` is this one and the samples are at hand."""
    (folder / "config").symlink_to(REPOSITORY / "config")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(REPOSITORY)}
    return subprocess.run(
        ["bash", "-euc", commands], cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def test_the_catalog_is_made_step_by_step(tmp_path: Path) -> None:
    assert run(block("sh", "mkdir my-catalog"), tmp_path) == block("mermaid", "flowchart")
    assert (tmp_path / "my-catalog.Dockerfile").read_text() == block("dockerfile", "FROM")


def test_the_plain_bundle(tmp_path: Path) -> None:
    shown = block("json", '{\n    "schema": "olm.bundle"')
    command = block("sh", "python -m olmkit.fbc render config/samples/bundles/message-board")
    assert run(command, tmp_path) == shown


def test_the_package(tmp_path: Path) -> None:
    shown = block("json", '{\n    "schema": "olm.package"')
    assert run("python -m olmkit.fbc init hello-operator -c stable", tmp_path) == shown


def test_the_refusal(tmp_path: Path) -> None:
    run(block("sh", "mkdir my-catalog"), tmp_path)
    channel = tmp_path / "my-catalog" / "channel.yaml"
    channel.write_text(channel.read_text().replace("  replaces: hello-operator.v0.1.0\n", ""))
    command = [sys.executable, "-m", "olmkit.fbc", "validate", str(tmp_path / "my-catalog")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (1, block("", "invalid index:"))
