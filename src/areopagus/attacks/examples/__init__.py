"""Texts that an attack starts from, and clean texts that a detector may take for one."""
