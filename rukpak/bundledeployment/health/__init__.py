"""The health of installed objects, and the deadlines of their progress."""
