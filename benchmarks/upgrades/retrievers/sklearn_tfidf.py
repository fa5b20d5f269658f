"""scikit-learn's TF-IDF over the sections of the notes."""

from collections.abc import Callable
from pathlib import Path

from passages import Hit, sections
from sklearn.feature_extraction.text import TfidfVectorizer


def build(notes: Path) -> Callable[[str, int], list[Hit]]:
    """Index the notes."""
    own = sections(notes)
    vectorizer = TfidfVectorizer(stop_words="english", sublinear_tf=True)
    vectors = vectorizer.fit_transform([section["text"] for section in own])

    def search(question: str, k: int) -> list[Hit]:
        scores = (vectors @ vectorizer.transform([question]).T).toarray()[:, 0]
        return [{**own[place], "score": float(scores[place])} for place in (-scores).argsort(kind="stable")[:k]]

    return search
