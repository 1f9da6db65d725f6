"""The concept pairs of the hidden-bias audit, one file a theme."""
