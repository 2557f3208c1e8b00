"""The command line `olm`. Imports no controller but its pure parts."""
