"""The kinds of the suite as pydantic models: what config/crd is generated from and what controllers read and write.

Pure: no I/O. One module per resource, named as the resource's plural.
"""
