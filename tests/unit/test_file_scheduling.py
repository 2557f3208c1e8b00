"""The file that a process of `make test` takes next: one for which it has the fixtures."""

from __future__ import annotations

import pytest

from tests.file_scheduling import next_file

GUIDE, DOCS = "tests/e2e/test_guide.py", "tests/e2e/test_docs.py"
SUITE, CATALOGD, BUNDLE = (f"tests/cluster/{name}.py" for name in ("suite/test_a", "catalogd/test_a", "bundle/test_a"))
JOBS = "tests/integration/olmkit/test_jobs.py"


@pytest.mark.parametrize(
    ("waiting", "before", "others", "expected"),
    [
        pytest.param([GUIDE, SUITE, JOBS], None, [], GUIDE, id="the first process begins with the first file"),
        pytest.param([GUIDE, SUITE, JOBS], None, [DOCS], SUITE, id="the second begins with the other tier of clusters"),
        pytest.param([GUIDE, BUNDLE], None, [DOCS, SUITE], BUNDLE, id="the third too, because that tier takes longer"),
        pytest.param([GUIDE, BUNDLE], None, [DOCS, SUITE, CATALOGD], GUIDE, id="the fourth shares the first tier"),
        pytest.param([SUITE, BUNDLE], None, [SUITE, DOCS], BUNDLE, id="in a directory that no other process is in"),
        pytest.param([JOBS], None, [], JOBS, id="without files of clusters, one of the last tier"),
        pytest.param([SUITE, GUIDE], DOCS, [SUITE], GUIDE, id="a process stays in its tier"),
        pytest.param([SUITE, CATALOGD], CATALOGD, [], CATALOGD, id="and in its directory"),
        pytest.param([SUITE, BUNDLE], CATALOGD, [SUITE], BUNDLE, id="then it takes a directory of its own"),
        pytest.param([SUITE], CATALOGD, [SUITE], SUITE, id="or shares one"),
        pytest.param([SUITE, JOBS], DOCS, [CATALOGD], JOBS, id="what needs no cluster comes before another cluster"),
        pytest.param([SUITE], JOBS, [CATALOGD], SUITE, id="at the end a process helps in another tier"),
    ],
)
def test_the_next_file(waiting: list[str], before: str | None, others: list[str], expected: str) -> None:
    assert next_file(waiting, before, others) == expected
