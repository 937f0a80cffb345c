# Two images:
#
#   docker build --target interpreter -t agent-env-sandbox .    where model-written Python runs
#   docker build --target cli -t agent-env .                    the command-line tool
#
# Where no registry is reached, the first can be made from the local Python instead:
#
#   python -m agent_env.sandbox.rootfs agent-env-sandbox

ARG PYTHON=3.11

# The calendar packages, built where there is a compiler.
FROM python:${PYTHON} AS packages
RUN pip install --no-cache-dir --target /opt/packages \
        "sxtwl>=2.0.7" "lunar_python>=1.4.8" pyluach hijridate jdatetime python-dateutil \
        astronomy-engine

FROM python:${PYTHON}-slim AS interpreter
COPY --from=packages /opt/packages /opt/packages
COPY agent_env/sandbox/kernel.py agent_env/sandbox/landlock.py agent_env/sandbox/rlimits.py \
     agent_env/sandbox/kept.py agent_env/sandbox/notebook.py agent_env/sandbox/executor.py \
     agent_env/sandbox/process_finder.py agent_env/sandbox/pause.py \
     agent_env/sandbox/worker.py agent_env/sandbox/inside.py \
     /opt/guest/agent_env/sandbox/
RUN touch /opt/guest/agent_env/__init__.py /opt/guest/agent_env/sandbox/__init__.py \
    && python -m compileall -q /opt/guest /opt/packages \
    && ln -s "$(command -v python3)" /opt/python3 \
    && mkdir /sandbox
USER 64321:64321
WORKDIR /sandbox
# The harness starts /opt/python3 with its own arguments and its own restrictions; run by hand,
# the image is just a Python without them.
ENTRYPOINT ["/opt/python3"]

FROM python:${PYTHON}-slim AS cli
RUN apt-get update \
    && apt-get install -y --no-install-recommends bubblewrap ca-certificates g++ \
    && rm -rf /var/lib/apt/lists/*
COPY . /opt/agent-env
RUN pip install --no-cache-dir --constraint /opt/agent-env/constraints.txt /opt/agent-env
RUN useradd --create-home agent
USER agent
WORKDIR /home/agent
ENTRYPOINT ["agent-env"]
