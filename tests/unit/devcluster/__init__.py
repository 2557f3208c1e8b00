"""Pure parts of devcluster: texts, command lines, shares of ports and ranges."""
