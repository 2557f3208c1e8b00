"""Pure parts of devcluster: generated texts, command lines, and allocations of ports and ranges."""
