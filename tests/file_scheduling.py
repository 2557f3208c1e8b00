"""The order in which the processes of `make test` take the files of tests: each keeps to the fixtures that it has.

Called by tests/conftest.py in the process that distributes the files, for `--dist loadfile`. A cluster, and a suite on it, costs
the processor time of ten short tests. So the processes are divided among the tiers that need them, by the time that these take.
Each stays in its tier and in its directory while there are files. The tier without a cluster comes last, where it fills the gaps,
so that few processes, if any, start another cluster to help in the other tier.
"""

from __future__ import annotations

from collections import Counter

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

LAST_TIER = "integration"
"""The tier without a cluster."""
SHARES = {"cluster": 2}
"""How many processes begin with a tier for each one of the others: its tests take more than twice as long as those of e2e."""


class FileScheduling(LoadFileScheduling):  # type: ignore[misc]
    """Chooses the next file of a process by the one before."""

    def _assign_work_unit(self, node: WorkerController) -> None:
        before = next(reversed(self.assigned_work[node]), None)
        others = [next(reversed(files)) for other, files in self.assigned_work.items() if files and other is not node]
        self.workqueue.move_to_end(next_file(list(self.workqueue), before, others), last=False)
        super()._assign_work_unit(node)


def next_file(waiting: list[str], before: str | None, others: list[str]) -> str:
    """The file for a process whose last one was `before`; `others` are the last files of the other processes."""
    tier = _next_tier(list(dict.fromkeys(map(tier_of, waiting))), before, others)
    mine = [each for each in waiting if tier_of(each) == tier]
    here, taken = directory_of(before or ""), set(map(directory_of, others))
    same = [each for each in mine if directory_of(each) == here]
    free = [each for each in mine if directory_of(each) not in taken]
    return (same or free or mine)[0]


def _next_tier(waiting: list[str], before: str | None, others: list[str]) -> str:
    if before is not None and tier_of(before) in waiting:
        return tier_of(before)
    if before is not None and LAST_TIER in waiting:
        return LAST_TIER
    processes = Counter(map(tier_of, others))
    clusters = (each for each in waiting if each != LAST_TIER)
    return min(clusters, key=lambda each: processes[each] / SHARES.get(each, 1), default=LAST_TIER)


def tier_of(file: str) -> str:
    """The tier of a file such as tests/cluster/catalogd/test_a.py."""
    return file.split("/")[1]


def directory_of(file: str) -> str:
    """Its directory."""
    return file.rpartition("/")[0]
