"""What is removed from the packages of the image."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from release.application import drop_symbols

USES = {
    "zstandard": "import zstandard as z; assert z.decompress(z.compress(b'a' * 99)) == b'a' * 99 and z.backend == 'cext'",
    "yaml": "import yaml; assert yaml.load('a: [1]', yaml.CSafeLoader) == {'a': [1]}",
    "cryptography": "from cryptography.hazmat.primitives.asymmetric.ec import *; generate_private_key(SECP256R1())",
}


@pytest.mark.parametrize("name", USES)
def test_a_library_without_symbols_works_and_is_smaller(name: str, tmp_path: Path) -> None:
    found = importlib.util.find_spec(name)
    assert found is not None
    assert found.origin is not None
    copy = shutil.copytree(Path(found.origin).parent, tmp_path / name)
    libraries = list(copy.rglob("*.so"))
    sizes = [path.stat().st_size for path in libraries]
    assert all(drop_symbols(path) for path in libraries)
    assert all(path.stat().st_size < size for path, size in zip(libraries, sizes, strict=True))
    assert not any(drop_symbols(path) for path in libraries)
    check = f"import {name}; assert {name}.__file__.startswith({str(tmp_path)!r}); {USES[name]}"
    subprocess.run([sys.executable, "-c", check], check=True, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)})


def test_another_file_is_not_changed(tmp_path: Path) -> None:
    script = tmp_path / "libc.so"
    script.write_text("INPUT(libc.so.6)")
    assert not drop_symbols(script)
    assert script.read_text() == "INPUT(libc.so.6)"
