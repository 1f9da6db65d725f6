# The command line in a container, with nothing of this folder but the package and its examples.
#   docker build -t areopagus .
#   docker run --rm areopagus score examples/responses.csv
# With files of your own, and keys handed over by the names of their variables:
#   docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/data" -e OPENAI_API_KEY \
#     areopagus score responses.csv --models openai/gpt-4o-mini --max-cost 2
FROM python:3.11-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src src
COPY judges judges
COPY graphs graphs
COPY personas personas
COPY rubrics rubrics
COPY aggregation aggregation
COPY records records
COPY reports reports
COPY audits audits
RUN python -m venv /opt/areopagus
RUN /opt/areopagus/bin/pip install --no-cache-dir --disable-pip-version-check '.[fast]'

FROM python:3.11-slim
RUN useradd --uid 1000 --create-home areopagus && install -d -o areopagus -g areopagus /data
COPY --from=build /opt/areopagus /opt/areopagus
# The ledger stays with the files that are mounted at /data, so that nothing is paid twice.
ENV PATH=/opt/areopagus/bin:$PATH AREOPAGUS_HOME=/data/.areopagus HOME=/tmp
USER areopagus
WORKDIR /data
COPY --chown=areopagus:areopagus examples examples
ENTRYPOINT ["areopagus"]
CMD ["--help"]
