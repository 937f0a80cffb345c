"""llama.cpp's server for one GGUF file, out of the package xllamacpp: `python llama.py FILE --port
PORT`. Only that package and the standard library are imported."""

import argparse
import signal
import sys
from pathlib import Path


def main() -> int:
    """Serves until a signal ends it; 1 where the server cannot start, whose reason llama.cpp has
    printed by then."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--alias", required=True)
    parser.add_argument("--context", type=int, required=True)
    parser.add_argument("--slots", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--template")
    chosen = parser.parse_args()

    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = chosen.file
    params.model_alias = {chosen.alias}
    params.hostnames, params.port = ["127.0.0.1"], chosen.port
    params.n_ctx, params.n_parallel = chosen.context * chosen.slots, chosen.slots
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = chosen.threads
    params.n_threads_http = 4
    params.cache_ram_mib = 256  # prompts kept beside the slots; llama.cpp's own 8 GB is a machine
    params.use_jinja, params.ui = True, False
    if chosen.template is not None:
        ours = Path(__file__).parent / "templates" / f"{chosen.template}.jinja"
        file = ours if ours.is_file() else Path(chosen.template)
        params.chat_template = file.read_text(encoding="utf-8")
    params.fit_params = False  # the context is as it is written in run.json, or there is none
    try:
        server = xllamacpp.Server(params)
    except RuntimeError as exc:
        print(f"the server cannot start: {exc}", flush=True)
        return 1
    print(f"ready: {server.listening_address}", flush=True)
    while True:
        signal.pause()


if __name__ == "__main__":
    sys.exit(main())
