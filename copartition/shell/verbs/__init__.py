"""Commands that have no model of their own: they call one function of a library."""
