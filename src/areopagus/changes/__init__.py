"""Two runs of one kind, before and after: what has changed, paired by item, and whether it is shown."""
