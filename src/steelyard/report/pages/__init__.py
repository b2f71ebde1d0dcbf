"""The pages of the report: each module makes plain data, and the template of the same name shows it."""
