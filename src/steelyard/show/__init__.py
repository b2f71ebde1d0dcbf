"""Shows what was judged: the command line, its commands, the screen, the report, exports and queries."""
