"""Sources of the generated pages: each module turns one part of the program into Markdown."""
