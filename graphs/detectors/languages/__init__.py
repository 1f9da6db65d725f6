"""The words of the detectors, one file a language."""
