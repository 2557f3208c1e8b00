"""The kinds of the suite as pydantic models. config/crd is generated from them, and controllers read and write them.

Pure: no I/O. One module per resource, named as the resource's plural.
"""
