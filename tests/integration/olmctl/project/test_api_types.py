"""Go types of a project in its directory: where they are found, and what a checkout may bring there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from olmctl.project import api_types
from olmctl.project.api_types import described
from olmctl.project.csv_markers import PREFIX
from olmctl.project.manifests import WrongUsage

OWNED = {"kind": "Lamp", "name": "lamps.light.example.com", "version": "v1"}
TYPES = f"""\
package v1

type LampSpec struct {{
	// +{PREFIX}:type=spec,displayName="Number"
	Size int `json:"size"`
}}

// Lamp shines.
// +{PREFIX}:displayName="A Lamp"
type Lamp struct {{
	Spec LampSpec `json:"spec"`
}}
"""
DESCRIBED = {
    **OWNED,
    "description": "Lamp shines.",
    "displayName": "A Lamp",
    "specDescriptors": [{"displayName": "Number", "path": "size"}],
}


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of the project, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: str, text: str = TYPES) -> Path:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    ("path", "directory"),
    [
        pytest.param("api/v1/lamp_types.go", "", id="one group"),
        pytest.param("api/light/v1/lamp_types.go", "", id="several groups"),
        pytest.param("apis/light/v1/lamp_types.go", "", id="the older name"),
        pytest.param("pkg/types/v1/lamp_types.go", "pkg/types", id="a directory that is named"),
    ],
)
def test_types_are_found(path: str, directory: str) -> None:
    write(path)
    assert described([OWNED], directory) == ([DESCRIBED], [])


def test_types_in_several_files() -> None:
    spec, kind = TYPES.split("// Lamp shines.")
    write("api/v1/a.go", spec)
    write("api/v1/b.go", f"package v1\n// Lamp shines.{kind}")
    write("api/v1/b_test.go", "package v1\ntype Lamp struct {}\n")
    assert described([OWNED], "") == ([DESCRIBED], [])


def test_without_types_nothing_changes() -> None:
    assert described([OWNED], "") == ([OWNED], [])
    Path("api").mkdir()
    assert described([OWNED], "") == ([OWNED], [])
    assert described([OWNED], "api") == (
        [OWNED],
        ["api has no directory for version v1 of light.example.com: Lamp is not described"],
    )
    write("api/v1/a.go", "package v1\n")
    assert described([OWNED], "") == ([OWNED], ["api/v1 declares no struct Lamp: it is not described"])
    with pytest.raises(WrongUsage, match="--apis-dir none: no such directory"):
        described([OWNED], "none")


@pytest.mark.parametrize(
    ("base", "wanted"),
    [
        pytest.param({"displayName": "Other", "description": "Other."}, {}, id="the types are newer than the base"),
        pytest.param(
            {"resources": [{"kind": "Pod", "version": "v1", "name": ""}]},
            {"resources": [{"kind": "Pod", "version": "v1", "name": ""}]},
            id="what the types do not say stays",
        ),
        pytest.param(
            {"specDescriptors": [{"path": "color", "displayName": "Color"}, {"path": "size", "displayName": "Old"}]},
            {"specDescriptors": [*DESCRIBED["specDescriptors"], {"path": "color", "displayName": "Color"}]},
            id="descriptors of other fields stay",
        ),
    ],
)
def test_the_base_and_the_types(base: dict[str, Any], wanted: dict[str, Any]) -> None:
    write("api/v1/a.go")
    assert described([{**OWNED, **base}], "") == ([{**DESCRIBED, **wanted}], [])


def test_a_title_of_the_base_stays_without_one_in_a_marker() -> None:
    write("api/v1/a.go", "package v1\ntype Lamp struct{}\ntype BigLamp struct{}\n")
    big = {**OWNED, "kind": "BigLamp"}
    assert described([{**OWNED, "displayName": "Mine"}, big], "")[0] == [
        {**OWNED, "displayName": "Mine"},
        {**big, "displayName": "Big Lamp"},
    ]


def test_kinds_are_in_their_order() -> None:
    marker = f"// +{PREFIX}:order={{}}\n"
    types = [
        f"{marker.format(order) if order else ''}type {kind} struct{{}}\n"
        for kind, order in (("A", 0), ("B", 2), ("C", 1))
    ]
    write("api/v1/a.go", "package v1\n" + "".join(types))
    found, _ = described([{**OWNED, "kind": kind} for kind in "ABC"], "")
    assert [each["kind"] for each in found] == ["C", "B", "A"]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        pytest.param(lambda at: at.symlink_to("/etc/passwd"), "it is a link", id="a link"),
        pytest.param(os.mkfifo, "it is no file", id="a pipe"),
        pytest.param(lambda at: at.mkdir(), "it is no file", id="a directory"),
        pytest.param(lambda at: at.write_bytes(b"\xff"), "it is no UTF-8", id="bytes"),
        pytest.param(lambda at: at.write_text("\n/* a"), "x.go:2: is not read: /* has no end", id="no Go"),
        pytest.param(lambda at: at.write_text(" " * 3000), "more than 2,000 bytes of a file", id="a large file"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    make: Callable[[Path], None], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_types, "MAX_FILE_BYTES", 2000)
    make(write("api/v1/lamp_types.go").with_name("x.go"))
    found, notes = described([OWNED], "")
    assert found == [DESCRIBED]
    assert [note for note in notes if words in note] == notes != []


@pytest.mark.parametrize("link", ["api", "api/v1", "api/light"])
def test_a_directory_that_is_a_link_is_not_followed(link: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    for path in ("v1/a.go", "light/v1/a.go", "a.go"):
        write(str(outside / path))
    Path(link).parent.mkdir(exist_ok=True)
    Path(link).symlink_to(outside)
    assert described([OWNED], "") == ([OWNED], [])


@pytest.mark.parametrize("name", ["lamps.../../x.example.com", "lamps.", "lamps"])
def test_a_name_does_not_lead_elsewhere(name: str) -> None:
    write("api/v1/a.go")
    assert described([{**OWNED, "name": name}], "")[0] == [{**OWNED, "name": name}]
    assert described([{**OWNED, "version": "../api/v1"}], "")[0] == [{**OWNED, "version": "../api/v1"}]


def test_more_files_than_are_read_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_types, "MAX_FILES", 1)
    write("api/v1/a.go")
    write("api/v1/b.go")
    assert described([OWNED], "") == ([DESCRIBED], ["api/v1 has 2 files, and the first 1 are read"])
