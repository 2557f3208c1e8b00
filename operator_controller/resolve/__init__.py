"""Which bundle an Operator gets, and why: pure, apart from the command that reads folders."""
