"""What Steelyard asks of the operating system: programs, signals, files, limits, the user's cache. Imports only the errors."""
