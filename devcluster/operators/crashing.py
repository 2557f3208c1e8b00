"""An operator that ends with an error each time it starts. Run as `python -m devcluster.operators.crashing`."""

LAST_LINE = "cannot start: DATABASE_URL is not set"
"""The last line that it prints."""

if __name__ == "__main__":
    raise SystemExit(LAST_LINE)
