"""`python -m tests.bench`: measures the figures on a cluster of its own and prints them as a table, with C and the machine.

What `make bench` runs. Writes the table to docs/figures.md. Asserts no time. Needs the corpus; without it says so and exits 1.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from devcluster import cluster as clusters
from devcluster import corpus as corpora
from devcluster.errors import DevclusterError
from devcluster.suite import Suite
from tests.bench import catalog_rows, install_rows, render_rows
from tests.bench.figures import Figure, table
from tests.bench.machine import description, reference_time

FILE = Path(__file__).parents[2] / "docs" / "figures.md"
GROUPS = ("render", "catalog", "install")


def main() -> int:
    """Exit status 0 when every row was measured, 1 when one could not be."""
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
    folder = corpora.open_corpus(corpora.default_folder())
    reference = reference_time()
    figures: list[Figure] = []

    def keep(figure: Figure) -> None:
        figures.append(figure)
        print(f"{figure.work}: {figure.result}", flush=True)

    if "render" in chosen:
        for figure in render_rows.rows(folder):
            keep(figure)
    if "catalog" in chosen or "install" in chosen:
        with clusters.start(clusters.Wanted("bench"), print) as cluster:
            Suite(cluster).install()
            if "catalog" in chosen:
                for figure in catalog_rows.rows(cluster, folder, reference):
                    keep(figure)
            if "install" in chosen:
                for figure in install_rows.rows(cluster, folder):
                    keep(figure)
    return figures, reference


if __name__ == "__main__":
    sys.exit(main())
