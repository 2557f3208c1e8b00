"""buildah where it cannot be had. That it is found or installed, tests/e2e/test_plain_bundles.py shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from devcluster import buildah
from devcluster.errors import DevclusterError


def test_a_machine_without_it_and_without_apt_get_is_told_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DevclusterError, match=r"no buildah here, and no apt-get .* `make buildah` as root"):
        buildah.provide(print)
