# syntax=docker/dockerfile:1
# evenhand from its wheel; by default it runs the demonstration.
#   python -m pip wheel --no-deps --wheel-dir dist .
#   docker build --tag evenhand .
#   docker run --rm --volume "$PWD/out:/out" evenhand
FROM python:3.11-slim

RUN useradd --create-home --uid 1000 evenhand && install --directory --owner evenhand /out
COPY dist/*.whl /tmp/dist/
RUN wheel="$(ls /tmp/dist/evenhand-*.whl)" \
    && python -m pip install --no-cache-dir "${wheel}[pixels,pdf,data]" \
    && rm -rf /tmp/dist

USER evenhand
WORKDIR /out
ENTRYPOINT ["evenhand"]
CMD ["demo", "--runs", "/out/evenhand-demo"]
