"""The commands `olm bundle ...`, one module each, named as the command."""
