"""What every model keeps: its parameters, how it learns, answers, is saved and found by name."""
