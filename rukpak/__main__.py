"""The process rukpak: Bundles are unpacked, BundleDeployments installed. `rukpak` or `python -m rukpak`.

Wires what rukpak.bundle and rukpak.bundledeployment hold; the flags are those of olmkit.runtime.manager.
"""

from __future__ import annotations

import sys

from olmkit.jobs import Jobs, Sandbox
from olmkit.jobs.memory_budget import job_memory_budget
from olmkit.runtime.flags import add_jobs_memory
from olmkit.runtime.manager import Manager, run
from olmkit.sources.access import Access
from olmkit.store.store import Store
from rukpak.bundle import reconciler as unpack
from rukpak.bundle.unpack import UNPACK, UnpackResult
from rukpak.bundledeployment import reconciler as install

NAME = "rukpak"


async def build(manager: Manager) -> None:
    """Both controllers, over one store."""
    settings = manager.settings
    # What is wrong with the configuration shall end the process now, and not each job later.
    access = Access(settings.registries_conf, settings.pull_cas_dir, settings.allow_source_cidr)
    access.check()
    store = Store(unpack.store_folder(settings))
    sandbox = Sandbox(reads=(*access.config_files(), unpack.store_folder(settings)))
    memory = job_memory_budget(settings.jobs_memory)
    jobs = Jobs[UnpackResult](
        lambda bundle: unpacking.enqueue(bundle), preload=[UNPACK.module], sandbox=sandbox, memory=memory
    )
    manager.on_close(jobs.close)
    unpacking = unpack.controller(manager, jobs, store)
    install.controller(manager, store, unpacking.enqueue)


def main() -> int:
    """The entry point; returns the exit status."""
    return run(NAME, build, add_jobs_memory)


if __name__ == "__main__":
    sys.exit(main())
