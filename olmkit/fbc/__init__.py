"""File-based catalogs: a folder of files to blobs, and blobs to typed values. Read by catalogd; decides nothing."""
