"""The frame of every job: settings, dry run, stages, progress, stop, cap, autosave, record."""
