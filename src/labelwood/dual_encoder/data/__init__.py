"""What a dual encoder learns from: texts, tokens, and what meets in a step."""
