"""A mock of the one call of Supabase's REST API that the gateway makes: POST /rest/v1/rpc/exec_sql.

It is not PostgREST, but it does what PostgREST does with a STABLE function: calls it in a READ ONLY transaction and gives its JSON,
or the database's refusal as `{code, message}`. The function is the shipped one, in a real Postgres reached through psql.

    mock_supabase_rest.py --port PORT --database URL --key KEY
"""

import argparse
import json
import re
import subprocess
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

REFUSED = re.compile(r"ERROR:\s+([0-9A-Z]{5}):\s+(.*)")


class Handler(BaseHTTPRequestHandler):
    database: str
    key: str
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        if self.headers.get("apikey") != self.key or self.headers.get("authorization") != f"Bearer {self.key}":
            return self.answer(401, json.dumps({"code": "PGRST301", "message": "no such key"}))
        if self.path != "/rest/v1/rpc/exec_sql":
            return self.answer(404, json.dumps({"code": "PGRST202", "message": f"no function at {self.path}"}))
        literal = "'" + body["query"].replace("'", "''") + "'"
        script = f"\\set VERBOSITY verbose\nBEGIN READ ONLY;\nSET LOCAL statement_timeout = '5s';\nSELECT exec_sql({literal});\n"
        done = subprocess.run(
            ["psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-d", self.database],
            input=script, capture_output=True, text=True, check=False,
        )
        if done.returncode == 0:
            return self.answer(200, done.stdout.strip())
        refused = REFUSED.search(done.stderr)
        code, message = refused.groups() if refused else ("XX000", done.stderr)
        self.answer(400, json.dumps({"code": code, "message": message, "hint": None, "details": None}))

    def answer(self, status: int, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--database", required=True)
    parser.add_argument("--key", required=True)
    options = parser.parse_args()
    Handler.database, Handler.key = options.database, options.key
    ThreadingHTTPServer(("127.0.0.1", options.port), Handler).serve_forever()


main()
