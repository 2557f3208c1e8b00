"""Results as JSON."""

from __future__ import annotations

import json

from olmctl.validation.finding import Finding
from olmctl.validation.output.json import line
from olmctl.validation.result import Result


def test_names_that_are_no_utf_8_are_printed() -> None:
    odd = Finding("error", "\x00\udcff", "extra", file="a\udcff", rule="x")
    found = json.loads(line(Result("b\udcff", (odd,))))
    assert (found["bundle"], found["outputs"][0]["file"]) == ("b\ufffd", "a\ufffd")
