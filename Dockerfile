# One image, three entry points: catalogd, rukpak, operator-controller. A Deployment's `command` picks one.
FROM python:3.11-slim AS build
WORKDIR /src
COPY requirements.lock ./
RUN pip download --quiet --no-deps --require-hashes --requirement requirements.lock --dest /wheels
COPY pyproject.toml README.md LICENSE ./
COPY olmkit olmkit
COPY catalogd catalogd
COPY rukpak rukpak
COPY operator_controller operator_controller
COPY olmctl olmctl
# Only what the three need at run time, and only from the files whose hashes were checked.
RUN python -m venv /app && /app/bin/pip install --quiet --no-index --find-links /wheels .

FROM python:3.11-slim
COPY --from=build /app /app
ENV PATH=/app/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
