"""The command line: groups of commands, help pages, and the options and tables that commands share."""
