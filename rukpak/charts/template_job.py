"""The function of the job TEMPLATE: a chart is rendered by helm, twice, and what helm prints is read. Runs in a child process
without a network, which may start helm alone and read the files of this chart alone.

helm gets the values by its standard input, an empty environment and an empty home. What it says about values of Secrets is never
shown: after a failure it runs again with masked values, and only the second message counts.
"""

from __future__ import annotations

import os
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import orjson

from olmkit.gocompat.text import one_line, truncate
from olmkit.jobs import sandbox
from olmkit.jobs.job import JobContext
from olmkit.jobs.job_functions import implement
from olmkit.jobs.sandbox import Sandbox
from rukpak.charts.rendering import Rendering, compare, packed, read_output
from rukpak.charts.template_request import TEMPLATE, TemplateRequest, TemplateResult
from rukpak.charts.values import merged
from rukpak.format.errors import BUNDLE_LOAD_FAILED, INVALID_CONFIGURATION, BadBundle

MAX_OUTPUT_BYTES = 16 * 1024**2
MAX_ERROR_BYTES = 64 * 1024
MAX_SHOWN_BYTES = 4096
ERROR_STATUS = 1
"""The status with which helm ends after an error that it explains."""
DEBUG_HINT = "Use --debug flag to render out invalid YAML"
VERSIONS_PER_ARGUMENT = 500
_CAPABILITIES = re.compile(b"Capabilities")
"""The word in templates that read the versions of the cluster and of its APIs."""
_NOW = re.compile(rb"\{\{[^}]{0,200}\bnow\b")
"""The function of templates that read the time."""
_ABOUT_VALUES = ("values don't meet the specifications of the schema", "execution error at (")
"""Errors that other values can avoid: those of a schema, and those of `fail` and `required` in a template."""
WITHHELD = (
    "helm cannot render the chart with the values of the Secrets of config.valuesFrom, and its message, which may have one of "
    "them, is not shown: run helm template with these values"
)
_UNKNOWN_HOOK = re.compile(r'skipping unknown hook: "([^\n]*)"')


def template(request: TemplateRequest, context: JobContext) -> TemplateResult:
    """Render the chart. Raises BadBundle."""
    directory = context.directory
    sandbox.restrict_files(Sandbox(reads=(request.chart,), writes=(directory,), executes=(request.program,)))
    try:
        rendering = _rendered(request, directory)
    except BadBundle:
        if any(layer.is_secret for layer in request.layers):
            _rendered(request, directory, is_masked=True)  # raises an error without values of Secrets
            raise BadBundle(INVALID_CONFIGURATION, WITHHELD) from None
        raise
    return TemplateResult(packed(rendering), rendering.digest(), _uses_api_versions(request))


def _rendered(request: TemplateRequest, directory: Path, *, is_masked: bool = False) -> Rendering:
    values = orjson.dumps(merged(request.layers, is_masked=is_masked))
    first = _helm(request, values, directory)
    if _mentions(request, _NOW):
        # Templates print the time in seconds: the second rendering is to have another one.
        time.sleep(1 - time.time() % 1)
    return compare(read_output(first), read_output(_helm(request, values, directory)))


def _explained(said: str, status: int) -> BadBundle:
    """The error for what helm has said, without the frames of a crash."""
    if status != ERROR_STATUS:
        is_memory = "out of memory" in said
        text = "needs more memory than a rendering may use" if is_memory else f"ended with the status {status}"
        return BadBundle(BUNDLE_LOAD_FAILED, f"helm template {text}")
    text = said.rpartition("Error: ")[2].removesuffix(DEBUG_HINT)
    shown = truncate(one_line(text), MAX_SHOWN_BYTES)
    reason = INVALID_CONFIGURATION if any(each in text for each in _ABOUT_VALUES) else BUNDLE_LOAD_FAILED
    return BadBundle(reason, f"helm template: {shown}")


def _helm(request: TemplateRequest, values: bytes, directory: Path) -> bytes:
    """The output of helm. Raises BadBundle, also if helm leaves out a hook of an event that it does not know."""
    process = subprocess.Popen(
        [request.program, *_arguments(request)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=directory,
        # A process that a job started may not signal itself, as its runtime does to interrupt a thread.
        env={"HOME": str(directory), "GODEBUG": "asyncpreemptoff=1", "GOMAXPROCS": "2"},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    errors: list[bytes] = []
    threads = [
        threading.Thread(target=_write, args=(process.stdin, values), daemon=True),
        threading.Thread(target=lambda: errors.append(_read(process.stderr, MAX_ERROR_BYTES)), daemon=True),
    ]
    for thread in threads:
        thread.start()
    output = process.stdout.read(MAX_OUTPUT_BYTES + 1)
    if len(output) > MAX_OUTPUT_BYTES:  # the end of this job ends helm
        text = f"helm template prints more than {MAX_OUTPUT_BYTES:,} bytes, the most that is read"
        raise BadBundle(BUNDLE_LOAD_FAILED, text)
    for thread in threads:
        thread.join()
    said = b"".join(errors).decode(errors="replace")
    if process.wait() != 0:
        raise _explained(said.strip(), process.returncode)
    if hooks := sorted(set(_UNKNOWN_HOOK.findall(said))):
        text = f"the chart has objects with hooks that helm does not know, and would leave them out: {', '.join(hooks)}"
        raise BadBundle(BUNDLE_LOAD_FAILED, text, subject=hooks)
    return output


def _arguments(request: TemplateRequest) -> Iterator[str | Path]:
    yield from ("template", request.name, request.chart, "--namespace", request.namespace, "--include-crds")
    yield from ("--kube-version", request.kube_version, "--values", "-")
    if request.is_upgrade:
        yield "--is-upgrade"
    for start in range(0, len(request.api_versions), VERSIONS_PER_ARGUMENT):
        yield from ("--api-versions", ",".join(request.api_versions[start : start + VERSIONS_PER_ARGUMENT]))


def _write(pipe: IO[bytes], data: bytes) -> None:
    try:
        with pipe:
            pipe.write(data)
    except BrokenPipeError:
        pass  # helm has ended without reading them


def _read(pipe: IO[bytes] | None, limit: int) -> bytes:
    """The first bytes of what the process writes; the rest is read and dropped."""
    assert pipe is not None
    data = pipe.read(limit)
    while pipe.read(limit):
        pass
    return data


def _uses_api_versions(request: TemplateRequest) -> bool:
    """Report whether a template or a value names what the cluster can do."""
    return _mentions(request, _CAPABILITIES)


def _mentions(request: TemplateRequest, word: re.Pattern[bytes]) -> bool:
    """Report whether a file or a value has a word; true also for files in archives."""
    if any(word.search(layer.text.encode()) for layer in request.layers):
        return True
    for parent, _, names in os.walk(request.chart):
        for name in names:
            if name.endswith((".tgz", ".tar.gz")) or word.search(Path(parent, name).read_bytes()):
                return True
    return False


implement(TEMPLATE, template)
