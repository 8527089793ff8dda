"""A mock of an endpoint for chat completions. It thinks nothing: what the last message says after `say:` is its answer.

Every request is written to the log, one JSON object a line: the document and the bearer token.

    mock_model.py --port PORT --log FILE
"""

import argparse
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    log: str
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        with open(self.log, "a", encoding="utf-8") as log:
            log.write(json.dumps({"asked": asked, "token": self.headers.get("authorization")}) + "\n")
        said = asked["messages"][-1]["content"].split("\n\nFigures:")[0].partition("say:")[2].strip()
        status, answer = (500, {}) if said == "fall over" else (200, {"choices": [{"message": {"content": said}}]})
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--log", required=True)
    options = parser.parse_args()
    Handler.log = options.log
    ThreadingHTTPServer(("127.0.0.1", options.port), Handler).serve_forever()


main()
