"""Who grades an answer: prompts, the models that are asked, the cassette of their replies, and what they come to."""
