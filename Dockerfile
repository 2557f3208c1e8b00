# The image of the suite: catalogd, rukpak, operator-controller, olm-console and olm. A Deployment's `command` picks one. There is no shell in it.
#
# `make image` runs this file with buildah. It replaces BASE and the stages `wheels` and `helm` by what it makes itself, and needs no
# registry. `docker build .` pulls all bases. They differ from those of `make image` in nothing that this file depends on: Debian 12 with
# its /usr/bin/python3, and the same wheels, by hash. docs/decisions/0039.
ARG BASE=gcr.io/distroless/python3-debian12
ARG DEVELOPMENT_BASE=gcr.io/distroless/python3-debian12:debug

FROM python:3.11-slim-bookworm AS wheels
WORKDIR /src
COPY requirements.lock pyproject.toml ./
COPY release release
RUN python -m release.wheels /wheels && mv /wheels/* /

# The program with which rukpak renders charts. Its version and flags are those of devcluster/optional_programs.py.
FROM golang:1.26-bookworm AS helm
ENV CGO_ENABLED=0 GOFLAGS="-mod=readonly -buildvcs=false" GOBIN=/
RUN go install -trimpath -gcflags=all=-dwarf=false -ldflags="-s -w \
      -X helm.sh/helm/v3/internal/version.version=v3.22.0 \
      -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor=34" \
      helm.sh/helm/v3/cmd/helm@v3.22.0 && \
    cp "$(go env GOMODCACHE)/helm.sh/helm/v3@v3.22.0/LICENSE" /helm.LICENSE

FROM ${BASE} AS build
USER 0
WORKDIR /src
COPY --from=wheels /*.whl /runtime.lock /wheels/
COPY pyproject.toml README.md LICENSE ./
COPY release/application.py /application.py
COPY olmkit olmkit
COPY catalogd catalogd
COPY rukpak rukpak
COPY operator_controller operator_controller
COPY olmctl olmctl
COPY console console
RUN ["/usr/bin/python3", "/application.py"]

# For Tilt: a shell and tar (busybox), and an /app that its user may change. Python compiles the suite's modules when they
# change. debugpy is there too: `python -X frozen_modules=off -m debugpy --listen 127.0.0.1:10000 -m catalogd ...`.
# `docker build --target development`, or `python -m release.image --target development`.
FROM ${DEVELOPMENT_BASE} AS development
COPY --from=build --chown=65532:65532 /app /app
COPY --from=build --chown=65532:65532 /development /app/lib/python3.11/site-packages
COPY --from=helm /helm /app/bin/helm
ENV PATH=/app/bin:/usr/bin:/busybox SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt PYTHONUNBUFFERED=1
RUN ["/busybox/sh", "-c", "cd /app/lib/python3.11/site-packages && \
     find olmkit catalogd rukpak operator_controller olmctl console -name __pycache__ -prune -exec rm -r {} +"]
COPY tilt/restart.sh /app/restart.sh
USER 65532:65532
WORKDIR /
ENTRYPOINT []
CMD ["olm", "--help"]

FROM ${BASE}
ARG VERSION=0
ARG REVISION=
LABEL org.opencontainers.image.title="olm-suite" \
      org.opencontainers.image.description="An operator lifecycle suite for Kubernetes" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /app /app
COPY --from=helm /helm /app/bin/helm
COPY --from=helm /helm.LICENSE /app/share/licenses/helm/LICENSE
ENV PATH=/app/bin:/usr/bin SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
WORKDIR /
ENTRYPOINT []
CMD ["olm", "--help"]
