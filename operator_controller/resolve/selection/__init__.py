"""The choices of the solver: components, the versions that each package may have, and the order of their steps. Pure."""
