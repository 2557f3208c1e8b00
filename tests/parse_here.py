"""What parses for a job, in the process of the test: for tests of what jobs do, rather than of what keeps them apart."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from olmkit.jobs import protocol


async def parse_here(
    function: str,
    arguments: Mapping[str, Any],
    files: Sequence[IO[bytes]],
    folder: Path,
    progress: Callable[[str], None],
) -> dict[str, Any]:
    """As olmkit.jobs.parser.Parse says; arguments and result go through JSON, as they do between processes."""
    found = protocol.resolve(function)(json.loads(json.dumps(arguments)), files, progress)
    result: dict[str, Any] = json.loads(json.dumps(found))
    return result
