"""The embedded stand-ins, `offline/…`: deterministic, without key or network, no model."""
