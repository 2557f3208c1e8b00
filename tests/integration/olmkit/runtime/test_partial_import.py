"""Modules without what their packages import beside them; each in a fresh interpreter, because imports are for good."""

from __future__ import annotations

import subprocess
import sys

import pytest

from olmkit.runtime.partial_import import package_without_init


def fresh(code: str) -> list[str]:
    """The words that the code prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_a_module_of_a_bare_package_comes_alone() -> None:
    code = """
import sys
from olmkit.runtime.partial_import import package_without_init
package_without_init("xml")
package_without_init("xml.etree")
import xml.etree.ElementPath
print(*sorted(each for each in sys.modules if each.split(".")[0] == "xml"))
"""
    assert fresh(code) == ["xml", "xml.etree", "xml.etree.ElementPath"]


def test_a_package_that_is_there_already_stays_as_it_is() -> None:
    assert package_without_init("subprocess") is subprocess


def test_a_package_that_does_not_exist_is_named() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        package_without_init("no_such_package")


@pytest.mark.parametrize(
    ("modules", "unwanted"),
    [
        (
            "catalogd.setup, olmkit.runtime.client",
            "kubernetes_asyncio.client.models catalogd.ingest.load_job olmkit.fbc.catalog msgspec",
        ),
        (
            "catalogd.__main__",
            "asyncio pydantic aiohttp kubernetes_asyncio cryptography yaml catalogd.ingest",
        ),
        (
            "olmkit.jobs.fork_server, catalogd.ingest.load_job",
            "pydantic kubernetes_asyncio cryptography prometheus_client aiohttp.web",
        ),
    ],
    ids=[
        "the process that serves catalogs",
        "the same process before it begins to verify its content",
        "the process that its jobs are forked from",
    ],
)
def test_what_would_cost_memory_or_time_for_nothing_is_not_loaded_by(modules: str, unwanted: str) -> None:
    code = f"""
import sys, {modules}
if "olmkit.runtime.kubeconfig" in sys.modules:
    olmkit.runtime.kubeconfig.driver()
print(*(each for each in {unwanted.split()!r} if each in sys.modules))
"""
    assert fresh(code) == []
