"""`olm catalog validate DIR`: check a catalog as `opm validate` does (formats 1.7). Prints nothing when it is valid."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from olmctl.authoring.catalog_validation import ValidationFailure
from olmctl.authoring.catalog_validation import validate as validate_directory
from olmctl.commands import WRONG_USAGE, CommandError
from olmctl.directory_files import GIVE_CATALOG, check_directory
from olmctl.terminal_output import say, write_document
from olmkit.gocompat.text import quoted
from olmkit.gocompat.yaml_dumper import UNLIMITED_WIDTH, TreeDumper

_FORMATS = ("json", "yaml")
_GO_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
"""Characters that Go's JSON encoder escapes in addition, so that the output equals opm's."""


def validate(directory: str, output: str) -> int:
    """Check the file-based catalog in DIR as opm does."""
    root = Path(directory)
    check_directory(root, GIVE_CATALOG)
    if output and output not in _FORMATS:
        raise CommandError(WRONG_USAGE, f"invalid --output value {quoted(output)}, expected (json|yaml)")
    failure = validate_directory(root)
    if output:
        write_document(f"{_formatted(failure, output)}\n")
    elif failure:
        say("\n".join((failure.opm_message, *([f"in {failure.place}"] if failure.place else []))), err=True)
    return 1 if failure else 0


def _formatted(failure: ValidationFailure | None, form: str) -> str:
    result: dict[str, Any] = {"passed": failure is None}
    if failure:
        result["error"] = {"message": failure.opm_message}
    if form == "json":
        return json.dumps(result, indent=2, ensure_ascii=False).translate(_GO_ESCAPES)
    return yaml.dump(result, Dumper=TreeDumper, allow_unicode=True, width=UNLIMITED_WIDTH)
