"""The stage `development`: what Tilt does to a container works in one."""

from __future__ import annotations

import subprocess
from pathlib import Path

from devcluster.processes import REPOSITORY
from olmctl.authoring.images import layout
from release import image, wheels
from release.container import bundle, command
from release.runtime_lock import versions
from release.suite import suite_version
from tests.image.unpacking import unpack

UPDATE = """
set -e
cd /app/lib/python3.11/site-packages
id -u
olm --version
mkdir -p /tmp/olmctl && sed 's/"olm %(version)s"/"changed %(version)s"/' olmctl/main.py > /tmp/olmctl/main.py
tar -C /tmp -cf /tmp/update.tar olmctl/main.py
tar -xf /tmp/update.tar
touch /tmp/.restart-proc
python -X frozen_modules=off -m debugpy --version
olm --version
"""


def test_its_user_changes_a_file_with_tar_and_the_next_process_runs_it(tmp_path: Path, runc: Path) -> None:
    built = image.build(tmp_path, print, target=image.DEVELOPMENT)
    content = layout.read(built.archive)
    unpack(content, tmp_path / "tree")
    configuration = bundle(tmp_path / "tree", content.configuration["config"], ["sh", "-c", UPDATE], readonly=False)
    started = command(runc, tmp_path / "container", configuration)
    ran = subprocess.run(started, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    version = suite_version()
    debugger = versions(wheels.read_runtime_lock(REPOSITORY))["debugpy"]
    assert (ran.stdout.splitlines(), ran.stderr) == (["65532", f"olm {version}", debugger, f"changed {version}"], "")
