WARNING = "Some people mind coins."
