"""The charts of tests/charts, written after charts that many people use, and small ones that tests make."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

CHARTS = Path(__file__).parent / "charts"


def chart_files(name: str) -> dict[str, bytes]:
    """The files of a chart of tests/charts, by their path in it."""
    root = CHARTS / name
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def small_chart(templates: Mapping[str, str], name: str = "small", **files: str) -> dict[str, bytes]:
    """A chart with these templates, and other files by their names with `_` for the dot."""
    chart = f"apiVersion: v2\nname: {name}\nversion: 1.0.0\n"
    found = {"Chart.yaml": chart, **{f"templates/{path}": text for path, text in templates.items()}}
    found |= {path.replace("_", "."): text for path, text in files.items()}
    return {path: text.encode() for path, text in found.items()}


def packed_chart(files: Mapping[str, bytes], directory: str) -> bytes:
    """The chart as `helm package` makes it: a tgz with one directory."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for path, content in files.items():
            member = tarfile.TarInfo(f"{directory}/{path}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return data.getvalue()


def write_chart(files: Mapping[str, bytes], directory: Path) -> Path:
    """The directory, with the files of a chart."""
    for path, content in files.items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_bytes(content)
    return directory
