"""raggate: a regression gate for RAG services."""

__version__ = "0.1.0"
