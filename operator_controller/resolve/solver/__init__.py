"""The solver: the best selection of versions for a problem in numbers, which names no catalog and no cluster. Pure."""
