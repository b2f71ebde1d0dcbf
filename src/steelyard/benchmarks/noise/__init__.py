"""What the operating system takes away: time lost to interruptions, and how often they come."""
