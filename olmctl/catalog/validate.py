"""`olm catalog validate DIR`: check a catalog as `opm validate` does (formats 1.7). Prints nothing when it is valid."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click
import yaml

from olmctl.commands import Directory, fail, reports_errors
from olmkit.fbc.validate import ValidationFailure
from olmkit.fbc.validate import validate as validate_folder
from olmkit.gocompat.text import quoted
from olmkit.gocompat.yaml_dumper import UNLIMITED_WIDTH, TreeDumper

_FORMATS = ("json", "yaml")
_HTML = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
"""Characters that Go's JSON encoder escapes in addition, so that the output equals opm's."""


@click.command("validate")
@click.argument("directory", metavar="DIR", type=Directory())
@click.option("-o", "--output", metavar="json|yaml", default="", help="Print the result in this format.")
@reports_errors
def validate(directory: str, output: str) -> int:
    """Check the file-based catalog in DIR as opm does.

    The exit status is 0 when the catalog is valid. Otherwise it is 1, and the faults are printed to standard error.
    Files that .indexignore excludes are not read.
    """
    root = Path(directory)
    if not root.is_dir():
        missing = f"stat {directory}: no such file or directory"
        return fail(f"{quoted(directory)} is not a directory" if root.exists() else missing)
    if output and output not in _FORMATS:
        return fail(f"invalid --output value {quoted(output)}, expected (json|yaml)")
    refusal = validate_folder(root)
    if output:
        print(_formatted(refusal, output))
    elif refusal:
        print(refusal.opm_message, *([f"in {refusal.place}"] if refusal.place else []), sep="\n", file=sys.stderr)
    return 1 if refusal else 0


def _formatted(refusal: ValidationFailure | None, form: str) -> str:
    verdict: dict[str, Any] = {"passed": refusal is None}
    if refusal:
        verdict["error"] = {"message": refusal.opm_message}
    if form == "json":
        return json.dumps(verdict, indent=2, ensure_ascii=False).translate(_HTML)
    return yaml.dump(verdict, Dumper=TreeDumper, allow_unicode=True, width=UNLIMITED_WIDTH)
