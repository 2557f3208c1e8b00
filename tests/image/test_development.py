"""The stage `development`: what Tilt does to a container works in one."""

from __future__ import annotations

import subprocess
from pathlib import Path

from release import image
from release.archive import Image
from release.container import bundle, command

UPDATE = """
set -e
cd /app/lib/python3.11/site-packages
id -u
olm --version
mkdir -p /tmp/olmctl && sed 's/"olm %(version)s"/"changed %(version)s"/' olmctl/main.py > /tmp/olmctl/main.py
tar -C /tmp -cf /tmp/update.tar olmctl/main.py
tar -xf /tmp/update.tar
touch /tmp/.restart-proc
olm --version
"""


def test_its_user_changes_a_file_with_tar_and_the_next_process_runs_it(tmp_path: Path, runc: Path) -> None:
    built = image.build(tmp_path, print, target=image.DEVELOPMENT)
    content = Image(built.archive)
    content.unpack(tmp_path / "tree")
    configuration = bundle(tmp_path / "tree", content.configuration["config"], ["sh", "-c", UPDATE], readonly=False)
    started = command(runc, tmp_path / "container", configuration)
    ran = subprocess.run(started, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    version = image.suite_version()
    assert (ran.stdout.splitlines(), ran.stderr) == (["65532", f"olm {version}", f"changed {version}"], "")
