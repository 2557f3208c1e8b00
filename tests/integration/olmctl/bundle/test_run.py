"""`olm bundle run` without a cluster."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.bundle_files import files
from tests.images import push, tar
from tests.servers.local_registry import LocalRegistry


def test_a_missing_kubeconfig_is_said_in_one_line(tmp_path: Path, local_registry: LocalRegistry) -> None:
    push(local_registry.address, "run/lamp", "v1", [tar(files())], {})
    image = f"{local_registry.address}/run/lamp:v1"
    command = [sys.executable, "-m", "olmctl", "bundle", "run", image]
    options = ["--registries-conf", str(local_registry.registries_conf), "--allow-source-cidr", "127.0.0.0/8"]
    environment = {**os.environ, "KUBECONFIG": str(tmp_path / "none")}
    ended = subprocess.run([*command, *options], env=environment, capture_output=True, text=True, check=False)
    text = f"there is no kubeconfig at {tmp_path / 'none'}: name one with --kubeconfig or $KUBECONFIG\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", text)
