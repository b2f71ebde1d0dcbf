"""Laws that are fitted to times: of messages, of scaling, of noise. Imports `samples` and `difference`."""
