"""Figures of today, frozen before the code that makes them is moved; see test_frozen.py."""
