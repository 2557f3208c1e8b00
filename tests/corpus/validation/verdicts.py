"""What upstream's validators say of real and of faulty bundles, in the form in which it is compared with the findings of olm.

Left out of messages are what sdk 1.10 leaves out: values that are addresses or source code of Go, and the sizes that another
compressor makes.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from olmctl.validation.finding import Finding
from tests.corpus.sample import is_sampled

DEFAULT = ("format", "content")
"""The validators of upstream that always run."""
Messages = Counter[tuple[str, str]]
"""Levels and messages, how many times each."""

_DUMP = re.compile(r"\. &\{map\[.*", re.DOTALL)
_LIST = re.compile(r"(Invalid value): \[\][A-Za-z.]+(?:\{.*\}|\(nil\)): ", re.DOTALL)
_FIELD_VALUE = re.compile(r"^(Error: Field \S+), Value .*?: (?=(?:spec|metadata)[.:\[])", re.DOTALL)
_SIZE = re.compile(r"size=~[0-9.]+ [kM]?B")
_KINDS = re.compile(r"(?<=Migrate the API\(s\) for ).*")


@dataclass(frozen=True)
class Verdict:
    """The verdict about one bundle. `exits`: the exit status by selector, 2 for a crash."""

    bundle: str
    directory: Path
    values: Mapping[str, str]
    fatal: str
    exits: Mapping[str, int]
    raw: tuple[Mapping[str, Any], ...] = field(repr=False)

    def messages(self, validators: Collection[str] = DEFAULT) -> Messages:
        """What these validators of upstream say."""
        found = [("error", self._named(self.fatal))] if self.fatal else []
        found += [(each["level"], self._named(each["message"])) for each in self.raw if each["validator"] in validators]
        return Counter((level, comparable(message)) for level, message in found)

    def _named(self, message: str) -> str:
        return message.replace("{bundle}", str(self.directory))


def real(verdicts: Path, corpus: Path) -> Iterator[Verdict]:
    """The verdicts about the real bundles that this run reads."""
    found = _read(verdicts / "verdicts.jsonl", corpus / "bundles")
    return (each for each in found if is_sampled(each.bundle))


def faulty(verdicts: Path) -> Iterator[Verdict]:
    """The verdicts about the faulty bundles."""
    return _read(verdicts / "faulty" / "verdicts.jsonl", verdicts / "faulty")


def _read(file: Path, bundles: Path) -> Iterator[Verdict]:
    for line in file.read_text().splitlines():
        found = json.loads(line)
        directory = bundles / found["bundle"]
        values = {key: value.replace("{bundle}", str(directory)) for key, value in (found.get("values") or {}).items()}
        findings = tuple(found.get("findings") or ())
        yield Verdict(found["bundle"], directory, values, found.get("fatal") or "", found["exit"], findings)


def messages_of(findings: Iterable[Finding]) -> Messages:
    """The levels and messages of findings of olm that upstream has too."""
    return Counter((each.level, comparable(each.message)) for each in findings if not each.extra)


def comparable(message: str) -> str:
    """The message without what may differ."""
    message = _DUMP.sub("", message)
    message = _LIST.sub(r"\1: ", message)
    message = _FIELD_VALUE.sub(r"\1, Value: ", message)
    message = _SIZE.sub("size=~N", message)
    return _KINDS.sub(lambda kinds: ",".join(sorted(kinds[0].split("),"))), message)
