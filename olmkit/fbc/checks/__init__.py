"""The checks of file-based catalogs, with the messages of `opm validate`. Pure."""
