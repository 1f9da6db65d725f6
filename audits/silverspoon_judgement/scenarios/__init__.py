"""The scenarios of SilverSpoon's normative judgement, one file a topic; without gold labels."""
