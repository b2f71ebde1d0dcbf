"""The formats of other tools, one file each. `importing.reading` says what such a file declares."""
