"""The Resolver: resolves all Operators at once in a child process, and gives each of them its answer."""
