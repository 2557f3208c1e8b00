"""Real bundles, added version by version to a new catalog, make one that opm accepts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from olmctl.main import main

pytestmark = pytest.mark.corpus

PACKAGES = 40
TWO_HEADS = "would have two heads"


def version_key(path: Path) -> list[int | str]:
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path.name)]


def test_packages_grow_version_by_version(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    added = 0
    refused: list[str] = []
    for package in sorted((corpus / "bundles").iterdir())[:PACKAGES]:
        for bundle in sorted(package.iterdir(), key=version_key):
            image = f"quay.io/test/{package.name.lower()}@sha256:{added + len(refused):064x}"
            status = main(["catalog", "add", str(bundle), "--image", image])
            errors = capsys.readouterr().err
            added += status == 0
            refused += [errors] if status else []
    # The corpus does not have all versions: a bundle that replaces one which is not there is refused.
    assert [each for each in refused if TWO_HEADS not in each] == []
    assert added > 80
    assert main(["catalog", "validate", "catalog"]) == 0
