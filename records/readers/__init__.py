"""Readers of tables: files in any format, data frames and iterables of mappings."""
