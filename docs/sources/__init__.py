"""What the generated pages are made from: each module turns one part of the program into Markdown."""
