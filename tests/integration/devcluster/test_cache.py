"""Filling the cache from several processes, and after one was killed."""

import subprocess
import sys
from pathlib import Path

import pytest

from devcluster.cache import STAGING_PREFIX, publish_once
from devcluster.processes import python_environment

FILL_SLOWLY = """
import sys, time
from pathlib import Path
from devcluster.cache import publish_once
target, mark = map(Path, sys.argv[1:])
def fill(directory):
    with mark.open("a") as log:
        log.write("x")
    time.sleep(0.2)
    (directory / "file").write_text("whole")
print((publish_once(target, fill) / "file").read_text())
"""


def test_one_of_several_processes_fills_an_entry_and_all_see_it_complete(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FILL_SLOWLY, str(tmp_path / "target"), str(tmp_path / "mark")]
    started = [subprocess.Popen(command, env=python_environment(), stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [process.communicate()[0] for process in started] == ["whole\n"] * 3
    assert (tmp_path / "mark").read_text() == "x"


def test_the_incomplete_entry_of_a_killed_process_is_removed(tmp_path: Path) -> None:
    left = tmp_path / f"{STAGING_PREFIX}target-left"
    left.mkdir()
    publish_once(tmp_path / "target", lambda directory: (directory / "file").touch())
    assert not left.exists()


def test_an_entry_is_filled_while_another_one_is_being_filled(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"

    def fill(directory: Path) -> None:
        (directory / "file").touch()

    publish_once(first, lambda _: fill(publish_once(second, fill)))
    assert (first.is_dir(), (second / "file").exists()) == (True, True)


def test_a_failed_fill_leaves_nothing_and_can_be_retried(tmp_path: Path) -> None:
    def fail(directory: Path) -> None:
        (directory / "half").touch()
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        publish_once(tmp_path / "target", fail)
    assert [path.name for path in tmp_path.iterdir()] == [".lock-target"]
    assert list(publish_once(tmp_path / "target", lambda directory: (directory / "file").touch()).iterdir()) == [
        tmp_path / "target" / "file"
    ]
