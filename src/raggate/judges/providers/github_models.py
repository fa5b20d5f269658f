"""GitHub Models: OpenAI's chat completions, at an address without version, over a token that may read models."""

from __future__ import annotations

from raggate.judges.providers.openai_chat import OpenAIChat


class GitHubModels(OpenAIChat):
    """`POST https://models.github.ai/inference/chat/completions`."""

    def url(self, base_url: str) -> str:
        """Return the address of the endpoint."""
        return f"{base_url.rstrip('/')}/chat/completions"
