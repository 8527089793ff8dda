"""A mock of the part of Supabase's Management API that its MCP server needs to list tables and to execute SQL.

It is not Supabase: one project, whatever its ref, is a SQLite database in memory with one table, `public.pots`. Every statement that
is executed is written to the log, one JSON string a line, before it runs; a story reads there what really happened.

    mock_management_api.py --port PORT --log FILE
"""

import argparse
import json
import re
import sqlite3
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

QUERY = re.compile(r"^/v1/projects/[^/]+/database/query$")


class Project:
    def __init__(self, log: str) -> None:
        self.log = log
        self.lock = Lock()
        self.database = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self.database.row_factory = sqlite3.Row
        self.database.executescript("CREATE TABLE pots (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO pots VALUES (1, 'teapot');")

    def execute(self, query: str) -> list[dict]:
        with self.lock:
            # The server reads Postgres's catalogue to list tables; SQLite has one of its own.
            if "pg_class" in query or "pg_catalog" in query:
                names = self.database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
                return [table(number, row["name"]) for number, row in enumerate(names, 1)]
            with open(self.log, "a", encoding="utf-8") as log:
                log.write(json.dumps(query) + "\n")
            return [dict(row) for row in self.database.execute(query.replace("public.", ""))]


def table(number: int, name: str) -> dict:
    return {
        "id": number, "schema": "public", "name": name, "rls_enabled": True, "rls_forced": False,
        "replica_identity": "DEFAULT", "bytes": 8192, "size": "8192 bytes", "live_rows_estimate": 1, "dead_rows_estimate": 0,
        "comment": None, "columns": [], "primary_keys": [], "relationships": [],
    }


class Handler(BaseHTTPRequestHandler):
    project: Project
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if not self.headers.get("authorization", "").startswith("Bearer "):
            return self.answer(401, {"message": "no token"})
        if not QUERY.match(self.path):
            return self.answer(404, {"message": f"the mock has no POST {self.path}"})
        try:
            self.answer(201, self.project.execute(json.loads(body)["query"]))
        except sqlite3.Error as error:
            self.answer(400, {"message": str(error)})

    def do_GET(self) -> None:
        # Where the documentation is looked up: the server asks for the schema before it lists its tools.
        if self.path.startswith("/content?"):
            return self.answer(200, {"data": {"schema": "type Query { searchDocs(query: String!): String }"}})
        self.answer(404, {"message": f"the mock has no GET {self.path}"})

    def answer(self, status: int, document: object) -> None:
        body = json.dumps(document).encode()
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
    Handler.project = Project(options.log)
    ThreadingHTTPServer(("127.0.0.1", options.port), Handler).serve_forever()


if __name__ == "__main__":
    main()
