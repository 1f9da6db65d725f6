"""The groups of the Samaritan audit with their phrasings, one file a category."""
