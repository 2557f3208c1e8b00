"""Installing buildah. tests/e2e/test_plain_bundles.py uses it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from devcluster import buildah
from devcluster.errors import DevclusterError


def test_without_buildah_and_apt_get_the_error_has_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DevclusterError, match=r"not installed, and there is no apt-get .* `make buildah` as root"):
        buildah.find_or_install(print)


APT_GET = """#!/bin/sh
echo "$DEBIAN_FRONTEND $*" >> "{directory}/asked"
! read answer || exit 1
[ "$1" = update ] || printf '#!/bin/sh\n' > "{directory}/buildah"
/bin/chmod -f +x "{directory}/buildah"
exit 0
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root installs")
def test_buildah_is_installed_without_a_prompt_and_existing_configuration_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The arguments of a fake apt-get. A real one would change the machine."""
    (tmp_path / "apt-get").write_text(APT_GET.format(directory=tmp_path))
    (tmp_path / "apt-get").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert buildah.find_or_install(print) == tmp_path / "buildah"
    keep = "-o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold"
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked == ["noninteractive update", f"noninteractive install -y {keep} buildah"]
