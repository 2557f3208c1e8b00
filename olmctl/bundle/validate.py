"""`olm bundle validate DIRECTORY|IMAGE...`: print what upstream's validators and those of the suite find in bundles.

Several bundles are checked in processes on all cores, and their results are printed in the order of the arguments. Bundles are
untrusted: each has limits of CPU time and memory, and nothing outside its directory is read. Never writes to a bundle.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import click

from olmctl.commands import FAILED
from olmctl.directory_files import check_directory, is_directory_meant
from olmctl.terminal_output import say, write_document
from olmctl.validation.checks import LOAD, Options, validated
from olmctl.validation.file_tree import TooLarge, read_tree
from olmctl.validation.finding import ERROR, Finding
from olmctl.validation.output import json, text
from olmctl.validation.result import Result
from olmctl.work_limits import LimitReached, limit_process, limited
from olmkit.errors import OlmError

_BUNDLES_PER_PROCESS = 4
"""Fewer bundles are checked sooner in this process than in others."""


@dataclass(frozen=True)
class _Job:
    """A bundle to check. The image options are for one that is no directory."""

    bundle: str
    options: Options
    registries_conf: Path | None
    pull_cas_dir: Path | None
    allow_source_cidr: tuple[str, ...]


def validate(
    bundles: tuple[str, ...],
    output: str | None,
    select_optional: str,
    optional_values: tuple[tuple[str, str], ...],
    *,
    upstream: bool,
    **images: Any,
) -> int:
    """Check the bundles and print their results."""
    options = Options(upstream, select_optional, {**_access(**images), **dict(optional_values)})
    if select_optional:
        _check_selector(select_optional)
    for each in filter(is_directory_meant, bundles):
        check_directory(Path(each))
    jobs = [_Job(bundle, options, **images) for bundle in bundles]
    results = []
    for result in _results(jobs):
        results.append(result)
        if output == "json":
            write_document(json.line(result))
        elif output is None:
            write_document("".join(f"{line}\n" for line in text.lines(result)))
    if output is None and len(results) > 1:
        say(f"\n{text.summary(results)}")
    elif output in ("sarif", "junit"):
        from olmctl.validation.output import junit, sarif

        write_document(sarif.write(results) if output == "sarif" else junit.write(results))
    return 0 if all(each.passed for each in results) else FAILED


def _check_selector(selector: str) -> None:
    from olmctl.validation.optional.registry import selected
    from olmkit.gocompat.label_selectors import BadSelector

    try:
        selected(selector)
    except BadSelector as error:
        raise click.UsageError(str(error)) from None


def list_validators() -> int:
    """Print the optional validators, and the labels by which they are selected."""
    from olmctl.validation.optional.registry import VALIDATORS

    rows = [("NAME", "LABELS", "DESCRIPTION")]
    for each in VALIDATORS:
        rows.append((each.name, ",".join(f"{key}={value}" for key, value in each.labels.items()), each.description))
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for name, labels, description in rows:
        say(f"{name:{widths[0]}}   {labels:{widths[1]}}   {description}")
    return 0


def _access(
    registries_conf: Path | None, pull_cas_dir: Path | None, allow_source_cidr: tuple[str, ...]
) -> Mapping[str, str]:
    """The image options, as the values with which the validator multiarch asks registries."""
    given = {
        "registries-conf": str(registries_conf or ""),
        "pull-cas-dir": str(pull_cas_dir or ""),
        "allow-source-cidr": ",".join(allow_source_cidr),
    }
    return {name: value for name, value in given.items() if value}


def _results(jobs: Sequence[_Job]) -> Iterator[Result]:
    """The results in the order of the jobs."""
    processes = min(_cores(), len(jobs) // _BUNDLES_PER_PROCESS)
    done = 0
    while processes > 1 and done < len(jobs):
        context = get_context("fork")
        with ProcessPoolExecutor(processes, mp_context=context, initializer=limit_process) as pool:
            try:
                for result in pool.map(_result, jobs[done:]):
                    done += 1
                    yield result
            except BrokenProcessPool:
                # The kernel has killed a process, most likely for its memory: each of the next bundles has one of its own.
                for job in jobs[done : done + processes]:
                    done += 1
                    yield _alone(job)
    yield from map(_result, jobs[done:])


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _alone(job: _Job) -> Result:
    """The result of a job in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("fork"), initializer=limit_process) as pool:
        try:
            return pool.submit(_result, job).result()
        except BrokenProcessPool:
            return _failure(job.bundle, "the process that checked it ended: it most likely needs too much memory")


def _result(job: _Job) -> Result:
    """The result of a job; a bundle that cannot be read or checked has one finding that says so."""
    try:
        return _checked(Path(job.bundle), job) if is_directory_meant(job.bundle) else _pulled(job)
    except (TooLarge, LimitReached, OlmError) as error:
        return _failure(job.bundle, str(error))
    except OSError as error:
        return _failure(job.bundle, f"{error.filename or job.bundle}: {error.strerror or error}")
    except MemoryError:
        return _failure(job.bundle, "its checks need too much memory")


def _failure(bundle: str, message: str) -> Result:
    return Result(bundle, (Finding(ERROR, message, LOAD, rule="load"),))


def _checked(directory: Path, job: _Job) -> Result:
    tree = read_tree(directory)
    with limited("its checks"):
        return validated(tree, job.bundle, job.options, str(directory))


def _pulled(job: _Job) -> Result:
    from olmctl.catalog.images import NoDirectory, unpacked

    try:
        access = (job.registries_conf, job.pull_cas_dir, job.allow_source_cidr)
        with unpacked(job.bundle, *access, only_bundles=True) as image:
            if image.is_catalog:
                return _failure(job.bundle, "the image is one of a catalog: `olm catalog validate` checks catalogs")
            return _checked(image.root, job)
    except NoDirectory as error:
        return _failure(job.bundle, str(error))
