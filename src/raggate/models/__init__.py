"""The nouns: frozen, one module per stage, without behaviour of their own."""
