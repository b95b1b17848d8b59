# Two images from one file; the base needs Python 3.11 or newer with venv, and useradd:
#   docker build --target=bastion --tag=bastion .
#   docker build --target=worker --tag=bastion-worker .
ARG BASE=python:3.11-slim

FROM ${BASE} AS pip
WORKDIR /build
RUN python3 -m venv /pip && python3 -m venv --without-pip /usr/local/bastion
ENV INSTALL="/pip/bin/pip --python=/usr/local/bastion/bin/python install --no-cache-dir"
COPY requirements-dev.lock pyproject.toml README.md LICENSE ./
COPY bastion bastion
COPY bundler bundler
COPY cli cli
COPY launcher launcher
COPY quota quota
COPY runners runners
# The lock's setuptools builds the wheel.
RUN sed -n 's/^\(setuptools==[^ ]*\).*/\1/p' requirements-dev.lock > constraints.txt \
    && PIP_CONSTRAINT=constraints.txt /pip/bin/pip wheel --no-cache-dir --no-deps --wheel-dir=dist .

FROM pip AS build-worker
COPY requirements.lock .
RUN $INSTALL --require-hashes -r requirements.lock && $INSTALL --no-deps dist/*.whl

FROM build-worker AS build-bastion
COPY requirements-image.lock .
RUN $INSTALL --require-hashes -r requirements-image.lock
# The client describes several hundred of Google's APIs, in 90 MB; the bastion calls a few.
RUN /usr/local/bastion/bin/python -I -c "from bastion.runners.google.api.service_descriptions import VERSIONS; print(*(f'{name}.{version}.json' \
        for name, version in VERSIONS.items()), sep='\n')" > apis \
    && cd /usr/local/bastion/lib/python3*/site-packages/googleapiclient/discovery_cache/documents \
    && tar -cf /build/apis.tar -T /build/apis && rm -f ./*.json && tar -xf /build/apis.tar
# What machines of Google's run is made here once, and not at each start; they are all of one kind.
RUN [ "$(uname -m)" != x86_64 ] || /usr/local/bastion/bin/python -I -c "from bastion.platform.shell import SystemShell; \
        from bastion.runners.delivery.archive_cache import LAID, lay; lay(LAID, SystemShell())"

FROM ${BASE} AS installed
RUN useradd --create-home --uid=10001 bastion
# By its number, so that a cluster can see that it is not root.
USER 10001
WORKDIR /home/bastion

FROM installed AS worker
COPY --from=build-worker /usr/local/bastion /usr/local/bastion
ENTRYPOINT ["/usr/local/bastion/bin/python", "-I", "-m", "bastion", "worker"]

FROM installed AS bastion
COPY --from=build-bastion /usr/local/bastion /usr/local/bastion
ENTRYPOINT ["/usr/local/bastion/bin/python", "-I", "-m", "bastion", "bastion"]
CMD ["--help"]
