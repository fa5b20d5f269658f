# The image of the container action. Build context: this directory.
#
# BASE_IMAGE must hold Python 3.11 or newer as `python3`, with the venv module. git is needed for `against`; it is
# installed with apt where the base has none. The release workflow passes the digest that the tag has
# on its day.
ARG BASE_IMAGE=python:3.12-slim-bookworm@sha256:782412e85d0f0984994c290652577d4018aff08145c85b262bb63dc0c7522254

# hadolint ignore=DL3006 # the tag or digest is in the argument
FROM ${BASE_IMAGE} AS build
WORKDIR /build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore PIP_QUIET=1
# With wheels in a directory `wheels` of the context nothing is fetched. Every file must have one of the hashes of the
# lock files either way. The second environment only makes raggate's own wheel.
COPY requirements.txt requirements-build.txt wheel[s] ./
RUN set -eu; \
    set -- *.whl; \
    if [ -e "$1" ]; then set -- --no-index --find-links /build; else set --; fi; \
    for name in raggate builder; do python3 -m venv "/opt/$name"; done; \
    /opt/raggate/bin/python -m pip install --only-binary :all: --require-hashes "$@" -r requirements.txt; \
    /opt/builder/bin/python -m pip install --only-binary :all: --require-hashes "$@" -r requirements-build.txt
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
# The runner can only be told the path of a program for the post step, without words: the first line holds the same
# isolation as the entry point below.
RUN set -eu; \
    /opt/builder/bin/python -m pip wheel --no-deps --no-index --no-build-isolation --wheel-dir /built .; \
    /opt/raggate/bin/python -m pip install --no-deps --no-index /built/*.whl; \
    /opt/raggate/bin/python -m pip uninstall --yes setuptools pip; \
    printf '#!/opt/raggate/bin/python -IuXutf8\nfrom raggate.action.main import post\n\npost()\n' \
        > /opt/raggate/bin/raggate-post; \
    chmod 755 /opt/raggate/bin/raggate-post

# hadolint ignore=DL3006 # the tag or digest is in the argument
FROM ${BASE_IMAGE}
# hadolint ignore=DL3008 # the base fixes the distribution's release; a version of git would only break later builds
RUN command -v git >/dev/null || { \
      apt-get update && apt-get install -y --no-install-recommends git && rm -rf /var/lib/apt/lists/*; }
COPY --from=build /opt/raggate /opt/raggate
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="raggate" \
      org.opencontainers.image.description="A regression gate for RAG services" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# No USER and no WORKDIR: the runner needs root and sets the directory itself. -I keeps the workspace, PYTHON variables
# and HOME from being imported; it also drops PYTHONUNBUFFERED and PYTHONUTF8, hence -u and -X utf8.
ENTRYPOINT ["/opt/raggate/bin/python", "-I", "-u", "-X", "utf8", "-m", "raggate.action.main"]
