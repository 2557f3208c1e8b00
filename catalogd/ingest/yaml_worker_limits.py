"""The number of YAML workers of a load job and their memory limit. Only values.

Used by catalogd.ingest.yaml_worker_pool, and by catalogd.ingest.load_request in the controller, which must not import the parser.
"""

from __future__ import annotations

YAML_WORKER_COUNT = 2
YAML_WORKER_MEMORY_BYTES = 256 * 1024 * 1024
"""The memory limit of each worker. Documents are small (catalog_files.MAX_WORKER_DOCUMENT_BYTES), and the data in flight is
bounded."""
