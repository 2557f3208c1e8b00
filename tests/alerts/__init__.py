"""The alert rules and the dashboard of config/, checked with promtool: `make alerts`."""
