"""The commands `olm bundle init` and `olm bundle generate`: from the project of an operator to its bundle, without a cluster."""
