"""Wing: many runs and many nodes. Since when is a figure different, and which node is slow?"""
