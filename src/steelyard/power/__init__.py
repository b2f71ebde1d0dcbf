"""Wing: readings of many nodes, from the agent through a broker into a store, and the commands that query them."""
