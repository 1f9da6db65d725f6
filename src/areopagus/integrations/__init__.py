"""Adapters to other tools, one module each; every one of them imports its tool late.

What they share is `evaluator`: one panel for tools that hand over one response at a time.
"""
