"""The models behind endpoints: one client, its backends, prices, limits and budget."""
