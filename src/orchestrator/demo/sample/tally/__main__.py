"""Run the service: `python -m tally --port 8080 --revision <commit>`."""

import argparse
import os

from tally.app import Tally
from tally.server import Server
from tally.settings import for_environment


def main() -> None:
    """Serve until the process is told to stop. ORCH_ENVIRONMENT says which settings apply."""
    parser = argparse.ArgumentParser(prog="tally")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--revision", default="unknown")
    options = parser.parse_args()
    settings = for_environment(os.environ.get("ORCH_ENVIRONMENT", "local"))
    with Server(options.port, Tally(settings, options.revision)) as server:
        print(f"tally {options.revision}: {settings.environment}, port {server.server_port}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
