"""Follows a page of the documentation: a directory that looks like the repository, and one shell for the page.

Independent of the content of a page. Pages write nothing into the repository.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from devcluster.cluster import Cluster
from devcluster.processes import REPOSITORY
from tests.forked_programs import ForkedOlm
from tests.pages import Block, Step, agrees

DEMO = "demo"
"""The name of the cluster of `make demo`, which pages speak of."""
OLM = """olm() {
    if [[ -n ${VIRTUAL_ENV-} ]]; then %s "$@"; else command olm "$@"; fi
}"""
"""The function that stands for the program in the shell of a page, once the page has activated .venv."""
NOTHING_FOUND = "No resources found"
"""The message of kubectl for a selector that selects nothing, with status 0."""
NOT_ACTIVATED = """#!/bin/sh
echo "this is no python of the repository: the page has not activated .venv" >&2
exit 127
"""
_SECONDS = 600
"""For all commands of a page: it ends a page that hangs, however slow the machine is."""
_UNSEEN = frozenset({".git", ".venv", ".cache", "build", "dist"})


class Reader:
    """Configures kubectl for the cluster, which is also the one that `python -m devcluster env --name demo` finds."""

    def __init__(self, cluster: Cluster, directory: Path, olm: ForkedOlm) -> None:
        """`directory` is empty."""
        self._olm = OLM % shlex.join(olm.shell_words)
        self._steps = directory / "steps"
        self._repository = directory / "repository"
        cache = directory / "cache"
        for made in (self._steps, self._repository, cache / "clusters"):
            made.mkdir(parents=True)
        for path in REPOSITORY.iterdir():
            if path.name not in _UNSEEN:
                (self._repository / path.name).symlink_to(path)
        (self._repository / ".venv").symlink_to(sys.prefix)
        (cache / "clusters" / DEMO).symlink_to(cluster.directory)
        others = directory / "others"
        others.mkdir()
        for name in ("python", "python3"):
            (others / name).write_text(NOT_ACTIVATED)
            (others / name).chmod(0o755)
        self._environment = _environment(cluster, cache, others)

    def follow(self, steps: Sequence[Step]) -> None:
        """Run the commands in order and compare their output. The first difference fails the test."""
        script = "\n".join(
            ["set -euo pipefail", self._olm, *(self._run(number, step.commands) for number, step in enumerate(steps))]
        )
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self._repository,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        for number, step in enumerate(steps):
            self._check(number, step, done.returncode)

    def _run(self, number: int, commands: Block) -> str:
        """The lines of the script for one block. A block that has to fail gets a shell of its own, because it ends it."""
        file = self._steps / f"{number}.sh"
        file.write_text(commands.text)
        kept = f'> "{self._steps}/{number}.out" 2>&1'
        if commands.status:
            return f'set +e; (set -e; source "{file}") {kept}; echo $? > "{self._steps}/{number}.status"; set -e'
        return f'source "{file}" {kept}; echo 0 > "{self._steps}/{number}.status"'

    def _check(self, number: int, step: Step, ended: int) -> None:
        commands, shown = step.commands, step.shown
        printed = (self._steps / f"{number}.out").read_text()
        report = f"{commands.place}:\n{commands.text}--- prints\n{printed}"
        status_file = self._steps / f"{number}.status"
        status = int(status_file.read_text()) if status_file.exists() else ended
        assert status == commands.status, f"{report}--- and ends with status {status}"
        assert NOTHING_FOUND not in printed or "kubectl delete" in commands.text, report
        if shown:
            assert agrees(shown.text, printed), f"{report}--- but {shown.place} shows\n{shown.text}"


def _environment(cluster: Cluster, cache: Path, others: Path) -> Mapping[str, str]:
    """The test's own, as it was before its virtual environment was activated; `others` come before what the system has."""
    own = str(Path(sys.prefix) / "bin")
    path = [part for part in os.environ["PATH"].split(os.pathsep) if part != own]
    kept = {
        name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV" and not name.startswith("PYTHON")
    }
    return {
        **kept,
        "PATH": os.pathsep.join([str(others), cluster.state.programs, *path]),
        "KUBECONFIG": str(cluster.kubeconfig),
        "KUBECACHEDIR": str(cluster.directory / "kubectl"),
        "GOGC": "off",  # kubectl ends before it has garbage worth collecting
        "OLM_CACHE": str(cache),
        # The registry of the cluster answers for the registries that the pages name, for `olm` too.
        "CONTAINERS_REGISTRIES_CONF": str(cluster.registries_conf),
        "OLM_ALLOW_SOURCE_CIDR": "127.0.0.0/8",
    }
