"""Runs a client against a gateway in front of a server that is only known now: the last argument.

    behind_gateway.py PORTREEVE CLIENT ARG... URL

The conformance suite starts a server for each scenario and appends its URL to the client's command; this stands in between. The gateway
has a store of its own in a temporary directory and one anonymous agent, because the suite's clients carry no key. Exits as the client does.
"""

import json
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port: int, process: subprocess.Popen) -> None:
    for _ in range(1000):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if process.poll() is not None:
            break
        time.sleep(0.02)
    raise SystemExit("the gateway does not listen")


def main() -> int:
    portreeve, *client, url = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        port, config = free_port(), Path(directory, "portreeve.yaml")
        (Path(directory) / "policies" / "manifests").mkdir(parents=True)
        # One scenario sends null where the tool's own schema wants a boolean, to see that no header is made of it.
        (Path(directory) / "policies" / "chain.yaml").write_text("plugins: { schema: observe }\n")
        config.write_text(json.dumps({  # JSON is YAML
            "listen": {"mcp": f"127.0.0.1:{port}", "console": f"127.0.0.1:{free_port()}"},
            "store": {"url": f"sqlite://{directory}/store.db"},
            "limits": {"agent_per_minute": 0},
            "policies": "policies",
            "identity": {"anonymous": "conformance"},
            "upstreams": {"mock": {"url": url, "unclassified": "observe"}},
        }))
        for command in (["tenant", "add", "acme"],
                        ["agent", "add", "conformance", "--tenant", "acme", "--autonomy", "A5", "--max-risk", "R4"]):
            subprocess.run([portreeve, *command, "--config", config], check=True, stdout=subprocess.DEVNULL)
        gateway = subprocess.Popen([portreeve, "serve", "--config", config], cwd=directory, stdout=sys.stderr)
        try:
            wait_for(port, gateway)
            return subprocess.run([*client, f"http://127.0.0.1:{port}/mock/mcp"]).returncode
        finally:
            gateway.terminate()
            gateway.wait(timeout=20)


if __name__ == "__main__":
    sys.exit(main())
