# Two images from one file; the base needs Python 3.11 or newer with venv, and useradd:
#   docker build --target=bastion --tag=bastion .
#   docker build --target=worker --tag=bastion-worker .
ARG BASE=python:3.11-slim

FROM ${BASE} AS build
WORKDIR /build
RUN python3 -m venv /usr/local/bastion
COPY requirements.lock .
RUN /usr/local/bastion/bin/pip install --no-cache-dir --require-hashes -r requirements.lock
COPY requirements-dev.lock pyproject.toml README.md LICENSE bastion_entry.py ./
COPY bastion bastion
COPY bundler bundler
COPY cli cli
COPY launcher launcher
COPY quota quota
COPY runners runners
# The lock's setuptools builds the wheel.
RUN sed -n 's/^\(setuptools==[^ ]*\).*/\1/p' requirements-dev.lock > constraints.txt \
    && PIP_CONSTRAINT=constraints.txt /usr/local/bastion/bin/pip wheel --no-cache-dir --no-deps --wheel-dir=dist . \
    && /usr/local/bastion/bin/pip install --no-cache-dir --no-deps dist/*.whl

FROM ${BASE} AS installed
RUN useradd --create-home --uid=10001 bastion
COPY --from=build /usr/local/bastion /usr/local/bastion
USER bastion
WORKDIR /home/bastion

FROM installed AS worker
ENTRYPOINT ["/usr/local/bastion/bin/python", "-I", "-m", "bastion_entry", "worker"]

FROM installed AS bastion
ENTRYPOINT ["/usr/local/bastion/bin/python", "-I", "-m", "bastion_entry", "bastion"]
CMD ["--help"]
