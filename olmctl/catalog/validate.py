"""`validate DIR`: would opm accept this catalog? Says nothing when it would, else why not in opm's words, with exit status 1."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from olmkit.fbc.validate import ValidationFailure, validate
from olmkit.gocompat.text import quoted
from olmkit.gocompat.yaml_dumper import UNLIMITED_WIDTH, TreeDumper

if TYPE_CHECKING:
    from argparse import _SubParsersAction

_FORMATS = ("json", "yaml")
_HTML = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
"""What Go's encoder escapes besides: so that the output is opm's to the byte."""


def add(commands: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command's parser."""
    parser = commands.add_parser(
        "validate",
        help="judge a catalog as opm does",
        description="Judge a file-based catalog as opm does. Exit status 0: valid; 1: not, and why.",
    )
    parser.add_argument("directory", metavar="DIR", help="the catalog's folder; .indexignore is minded")
    parser.add_argument("-o", "--output", metavar="json|yaml", default="", help="print the verdict in this form")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """0 when the catalog is valid."""
    root = Path(arguments.directory)
    if not root.is_dir():
        missing = f"stat {arguments.directory}: no such file or directory"
        print(f"{quoted(arguments.directory)} is not a directory" if root.exists() else missing, file=sys.stderr)
        return 1
    if arguments.output and arguments.output not in _FORMATS:
        print(f"invalid --output value {quoted(arguments.output)}, expected (json|yaml)", file=sys.stderr)
        return 1
    refusal = validate(root)
    if arguments.output:
        print(_formatted(refusal, arguments.output))
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
