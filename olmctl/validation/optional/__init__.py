"""The optional validators of upstream, with its texts and levels. Each is selected by its name or by the suite it belongs to."""
