"""Where content comes from: images out of registries, safely unpacked. Runs inside jobs (olmkit.jobs), not in a controller."""
