"""File-based catalogs: a folder of files to blobs, and blobs to typed values. Decides nothing."""
