"""Every query of the dashboard can be parsed by Prometheus."""

from __future__ import annotations

from pathlib import Path

import yaml

from release.dashboard import queries
from tests.alerts.conftest import Promtool

VARIABLES = {"$__rate_interval": "5m", "$namespace": "olm-suite-system"}


def test_every_query_can_be_parsed(promtool: Promtool, tmp_path: Path) -> None:
    rules = []
    for number, query in enumerate(queries()):
        for name, value in VARIABLES.items():
            query = query.replace(name, value)
        rules.append({"record": f"query_{number}", "expr": query})
    assert rules
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    assert f"SUCCESS: {len(rules)} rules found" in promtool("check", "rules", str(path))
