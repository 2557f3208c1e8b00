"""The controller of kind Operator."""
