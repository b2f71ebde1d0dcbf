"""One file a command, and the options that they share: they read words, call the other rooms, and print; they decide nothing."""
