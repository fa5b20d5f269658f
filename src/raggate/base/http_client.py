"""The HTTP client library: every other module takes it from here, so that another one goes in by this line."""

import httpx

__all__ = ["httpx"]
