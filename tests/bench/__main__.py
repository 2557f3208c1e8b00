"""`python -m tests.bench`, run by `make bench`: measures the figures on its own clusters and prints them as a table.

Writes the table to docs/figures.md, with C and the machine. Asserts no durations. Exits with status 1 without the corpus.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from devcluster import cluster as clusters
from devcluster import corpus as corpora
from devcluster.errors import DevclusterError
from devcluster.suite import Suite
from tests.bench import (
    catalog_rows,
    chart_rows,
    console_rows,
    decide_rows,
    document_rows,
    extension_rows,
    identity_rows,
    install_rows,
    many_rows,
    render_rows,
    resolve_rows,
    solve_rows,
    source_rows,
    validation_rows,
)
from tests.bench.figures import Figure, table
from tests.bench.machine import description, reference_time

FILE = Path(__file__).parents[2] / "docs" / "figures.md"
GROUPS = (
    "render",
    "validate",
    "resolve",
    "solve",
    "decide",
    "identity",
    "catalog",
    "source",
    "chart",
    "console",
    "many",
    "install",
    "extensions",
)


def main() -> int:
    """Exit status 0 if every row was measured, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Measure the figures of the suite.")
    parser.add_argument(
        "--only", choices=GROUPS, action="append", help="measure only this group; the file stays as it is"
    )
    chosen = parser.parse_args().only or list(GROUPS)
    try:
        figures, reference = _measure(chosen)
    except DevclusterError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    text = f"C = {reference:.2f} s (sha256 of 1 GiB in one thread); {description()}.\n\n{table(figures)}"
    print(f"\n{text}")
    if len(chosen) == len(GROUPS):
        FILE.write_text(f"# Figures\n\nMeasured by `make bench` on real catalogs and bundles.\n\n{text}")
    return 0


def _measure(chosen: list[str]) -> tuple[list[Figure], float]:
    directory = corpora.open_corpus(corpora.default_directory())
    reference = reference_time()
    figures: list[Figure] = []
    for figure in _figures(chosen, directory, reference):
        figures.append(figure)
        print(f"{figure.work}: {figure.result}", flush=True)
    return figures, reference


def _figures(chosen: list[str], directory: Path, reference: float) -> Iterator[Figure]:
    if "render" in chosen:
        yield from render_rows.rows(directory)
    if "validate" in chosen:
        yield from validation_rows.rows(directory)
    if "resolve" in chosen:
        yield from resolve_rows.rows()
    if "solve" in chosen:
        yield from solve_rows.rows()
        yield from document_rows.rows()
    if "decide" in chosen:
        yield from decide_rows.rows(reference)
    if "identity" in chosen:
        yield from identity_rows.rows()
    groups: dict[str, Callable[[clusters.Cluster], Iterator[Figure]]] = {
        "catalog": lambda cluster: catalog_rows.rows(cluster, directory, reference),
        "source": source_rows.rows,
        "chart": chart_rows.rows,
        "console": lambda cluster: console_rows.rows(cluster, directory),
        "many": lambda cluster: many_rows.rows(cluster, directory),
        "install": lambda cluster: install_rows.rows(cluster, directory, reference),
    }
    for group, rows in groups.items():
        if group in chosen:
            with _started(group) as cluster:
                yield from rows(cluster)
    if "extensions" in chosen:
        yield from extension_rows.rows(_started, directory)


@contextmanager
def _started(name: str) -> Iterator[clusters.Cluster]:
    with clusters.start(clusters.ClusterOptions(f"bench-{name}"), print) as cluster:
        Suite(cluster).install()
        yield cluster


if __name__ == "__main__":
    sys.exit(main())
