# syntax=docker/dockerfile:1
# evenhand from its wheel; by default it runs the demonstration.
#   python -m pip wheel --no-deps --wheel-dir dist .
#   docker build --tag evenhand .
#   docker run --rm --volume "$PWD/out:/out" evenhand
FROM python:3.11-slim

RUN useradd --create-home --uid 1000 evenhand && install --directory --owner evenhand /out
COPY dist/*.whl constraints.txt /tmp/dist/
RUN wheel="$(ls /tmp/dist/evenhand-*.whl)" \
    && python -m pip install --no-cache-dir --constraint /tmp/dist/constraints.txt "${wheel}[pixels,pdf,data]" \
    && rm -rf /tmp/dist

USER 1000
WORKDIR /out
ENTRYPOINT ["evenhand"]
CMD ["demo", "--runs", "/out/evenhand-demo"]
