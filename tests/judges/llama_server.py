"""llama.cpp's own HTTP server out of a wheel: weights, port and the name it answers by are the arguments.

It ends when its input does, so that nothing is left behind by a test that is killed.
"""

from __future__ import annotations

import sys

import xllamacpp


def serve(weights: str, port: int, name: str) -> None:
    """Serve until the input ends."""
    parameters = xllamacpp.CommonParams()
    parameters.model.path = weights
    parameters.model_alias = {name}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = port
    parameters.n_ctx = 8192
    parameters.n_parallel = 1
    parameters.endpoint_metrics = True
    # more threads than free cores make it slower by an order of magnitude: two servers share the cores instead
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)  # noqa: T201 - what starts it reads the address
    sys.stdin.read()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), sys.argv[3])
