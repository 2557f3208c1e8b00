"""The web console: Operators, packages, catalogs and instances in a browser, by the rights of the person who reads them."""
