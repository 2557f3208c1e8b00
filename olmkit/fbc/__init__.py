"""File-based catalogs: a directory of files to blobs, and blobs to typed values. Decides nothing."""
