"""package_without_init, and what processes import; each test in a fresh interpreter, because imports are permanent."""

from __future__ import annotations

import subprocess
import sys

import pytest

from olmkit.runtime.kubeconfig import package_without_init


def fresh(code: str) -> list[str]:
    """The words that the code prints in a fresh interpreter."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_a_module_is_imported_without_the_init_of_its_packages() -> None:
    code = """
import sys
from olmkit.runtime.kubeconfig import package_without_init
package_without_init("xml")
package_without_init("xml.etree")
import xml.etree.ElementPath
print(*sorted(each for each in sys.modules if each.split(".")[0] == "xml"))
"""
    assert fresh(code) == ["xml", "xml.etree", "xml.etree.ElementPath"]


def test_an_imported_package_is_unchanged() -> None:
    assert package_without_init("subprocess") is subprocess


def test_a_missing_package_is_named() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        package_without_init("no_such_package")


@pytest.mark.parametrize(
    ("modules", "unwanted"),
    [
        (
            "catalogd.setup, olmkit.runtime.client",
            "kubernetes_asyncio.client.models catalogd.ingest.load_job olmkit.fbc.catalog olmkit.fbc.documents",
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
        "the same process before it verifies its content",
        "the fork server of its jobs",
    ],
)
def test_unneeded_modules_are_not_imported_by(modules: str, unwanted: str) -> None:
    code = f"""
import sys, {modules}
if "olmkit.runtime.kubeconfig" in sys.modules:
    olmkit.runtime.kubeconfig.load_kubernetes_asyncio()
print(*(each for each in {unwanted.split()!r} if each in sys.modules))
"""
    assert fresh(code) == []
