"""Pure functions on samples: what they say, when they suffice, whether to believe them, how two differ."""
