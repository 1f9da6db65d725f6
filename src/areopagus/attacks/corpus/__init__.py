"""The injection corpus: one YAML file a family of attacks."""
