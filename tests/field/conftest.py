"""Real engines that others maintain: what `make field` installs and nobody commits.

With RAGGATE_REQUIRE_FIELD=1 what is missing is a failure.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from field.worked_example import ROOT

FIELD = ROOT / ".venv" / "field"
JARS = ROOT / ".venv" / "opensearch"
SOLR = ROOT / ".venv" / "solr"
MINILM = ROOT / ".venv" / "minilm"
TREC_RAG = ROOT / ".venv" / "trec-rag"


_PYTHON = "Python 3.12 or newer (FIELD_PYTHON=python3.12)"
_MAVEN = "Java 17 or newer and Maven"


def missing(what: str, needs: str) -> None:
    """Skip the test for want of something that is installed, or fail it where nothing may be missing."""
    why = f"{what} IS NOT INSTALLED, SO THIS ENGINE IS NOT GATED HERE: `make field` installs it if there is {needs}"
    if os.environ.get("RAGGATE_REQUIRE_FIELD") == "1":
        pytest.fail(f"{why} (RAGGATE_REQUIRE_FIELD=1)")
    pytest.skip(why)


@pytest.fixture(scope="session")
def field_programs() -> Path:
    """The directory of the programs of the engines that are packages of Python, and of a Python that imports them."""
    if not (FIELD / "ready").exists():
        missing("THE ENGINES OF PYTHON", _PYTHON)
    return FIELD / "bin"


@pytest.fixture(scope="session")
def opensearch() -> Path:
    """The directory of the libraries of OpenSearch."""
    if not (JARS / "ready").exists():
        missing("OPENSEARCH", _MAVEN)
    return JARS


@pytest.fixture(scope="session")
def solr_jars() -> Path:
    """The directory of the libraries of Solr."""
    if not (SOLR / "ready").exists():
        missing("SOLR", _MAVEN)
    return SOLR


@pytest.fixture(scope="session")
def hybrid() -> dict[str, str]:
    """What the hybrid search needs, by the names in its README: Python, model, passages, and vectors so far."""
    return installed_hybrid()


def installed_hybrid() -> dict[str, str]:
    """Return what the hybrid search needs; skip the test if some of it is not installed."""
    for place, what, needs in (
        (FIELD, "THE RUNTIME OF THE EMBEDDING MODEL", _PYTHON),
        (MINILM, "THE EMBEDDING MODEL", _MAVEN),
        (TREC_RAG, "THE PASSAGES OF TREC RAG", "a package index"),
    ):
        if not (place / "ready").exists():
            missing(what, needs)
    [jar], [archive] = MINILM.glob("*.jar"), TREC_RAG.glob("ir_axioms-*.tar.gz")
    return {
        "SEARCH_PYTHON": str(FIELD / "bin" / "python"),
        "TREC_RAG": str(archive),
        "MINILM_JAR": str(jar),
        # by the text and the model's hash, so that they stay true in later runs
        "MINILM_VECTORS": str(MINILM / "vectors.sqlite"),
    }
