"""Options and tables that several power commands share."""
