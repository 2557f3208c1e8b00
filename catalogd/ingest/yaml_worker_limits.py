"""How many processes read a catalog's YAML, and how much memory each may have: for the job and for the controller that limits it.

Used by catalogd.ingest.yaml_worker_pool and catalogd.ingest.load_request. Only values.
"""

from __future__ import annotations

YAML_WORKERS = 2
YAML_WORKER_MEMORY_BYTES = 256 * 1024 * 1024
"""Of each, in bytes: a document is small (catalogd.ingest.catalog_files.LARGE), and what is under way is bounded."""
