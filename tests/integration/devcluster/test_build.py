"""Errors of building the programs with Go. Every test with a cluster shows the success."""

import os
import re
from pathlib import Path

import pytest

from devcluster import programs
from devcluster.build import find_go
from devcluster.errors import DevclusterError


@pytest.mark.skipif(find_go(os.environ) is None, reason="there is no Go to fail")
def test_without_a_network_the_error_of_go_is_reported(tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if name not in ("KUBEBUILDER_ASSETS", "GOFLAGS")}
    nothing = {"OLM_CACHE": str(tmp_path / "cache"), "GOMODCACHE": str(tmp_path / "modules"), "GOPROXY": "off"}
    with pytest.raises(
        DevclusterError, match=re.compile(r"Go could not build Kubernetes v1\.34\.4:\n.*GOPROXY=off", re.DOTALL)
    ):
        programs.find_or_build(print, {**kept, **nothing})
    assert [path.name for path in (tmp_path / "cache" / "binaries").iterdir()] == [".lock"]
