"""The scenarios of the Samaritan audit, one file a topic."""
