"""A real MCP client (PyPI `mcp`) as a command: connect, list the tools, perhaps call one, print one JSON document.

    python_client.py URL [--mode default|legacy|2026-07-28] [--key KEY | --bearer TOKEN]
                         [--tool NAME [--arguments JSON]] [--callbacks] [--elicit accept|decline|cancel]
    python_client.py --stdio COMMAND ARG...          (last on the line)

The document: `protocol_version`, `server`, `tools` (names), `result` and `is_error` of the call, and with `--callbacks`
what the server asked or told on the way in `seen`. What went wrong is in `error`: a call that was refused with a JSON-RPC
error still exits 0, because the conversation worked; exit 1 means it did not.
"""

import argparse
import asyncio
import json
import sys
import warnings
from contextlib import AsyncExitStack

warnings.simplefilter("ignore")  # deprecated protocol features are used here on purpose

import mcp_types as types  # noqa: E402
from mcp import Client, MCPError, StdioServerParameters  # noqa: E402
from mcp.client.streamable_http import streamable_http_client  # noqa: E402
from mcp.shared._httpx_utils import create_mcp_http_client  # noqa: E402


def parse_command_line() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="one conversation with an MCP server")
    parser.add_argument("url", nargs="?")
    parser.add_argument("--mode", default="default", help="default, legacy, or a modern version to pin")
    parser.add_argument("--key", help="sent as x-api-key")
    parser.add_argument("--bearer", help="sent as Authorization: Bearer")
    parser.add_argument("--tool")
    parser.add_argument("--arguments", default="{}", type=json.loads)
    parser.add_argument("--callbacks", action="store_true", help="offer elicitation, sampling and roots; note progress and logs")
    parser.add_argument("--elicit", default="accept", choices=["accept", "decline", "cancel"])
    parser.add_argument("--timeout", default=60.0, type=float)
    parser.add_argument("--stdio", nargs=argparse.REMAINDER, metavar="COMMAND")
    options = parser.parse_args()
    if bool(options.url) == bool(options.stdio):
        parser.error("give a URL or --stdio COMMAND")
    return options


def plain(value):
    """A model of the SDK as the JSON that travels on the wire."""
    return value.model_dump(mode="json", by_alias=True, exclude_unset=True)


def filled_form(schema: dict) -> dict:
    """An answer which a requested schema accepts: its defaults, or the smallest value of each type."""
    by_type = {"boolean": True, "integer": 1, "number": 1.0, "array": [], "string": "test"}

    def value(field: dict):
        if "default" in field:
            return field["default"]
        if field.get("enum"):
            return field["enum"][0]
        if field.get("oneOf"):
            return field["oneOf"][0]["const"]
        if field.get("format") == "email":
            return "test@example.com"
        if field.get("type") in ("integer", "number") and "minimum" in field:
            return field["minimum"]
        return by_type.get(field.get("type"), "test")

    return {name: value(field) for name, field in schema.get("properties", {}).items()}


def callbacks(options: argparse.Namespace, seen: dict) -> dict:
    async def elicitation(_context, params):
        seen["elicitation"].append(plain(params))
        if options.elicit != "accept":
            return types.ElicitResult(action=options.elicit)
        schema = getattr(params, "requested_schema", None)
        return types.ElicitResult(action="accept", content=filled_form(schema) if schema else None)

    async def sampling(_context, params):
        seen["sampling"].append(plain(params))
        text = types.TextContent(type="text", text="a sampled answer")
        return types.CreateMessageResult(role="assistant", content=text, model="test-model", stop_reason="endTurn")

    async def roots(_context):
        seen["roots"] += 1
        return types.ListRootsResult(roots=[types.Root(uri="file:///test-root", name="test")])

    async def logging(params):
        seen["log"].append(plain(params))

    return {
        "elicitation_callback": elicitation,
        "sampling_callback": sampling,
        "list_roots_callback": roots,
        "logging_callback": logging,
        "log_level": "debug",
    }


async def all_tools(client: Client) -> list[str]:
    names, cursor = [], None
    while True:
        page = await client.list_tools(cursor=cursor)
        names += [tool.name for tool in page.tools]
        cursor = page.next_cursor
        if cursor is None:
            return names


async def converse(options: argparse.Namespace, document: dict) -> None:
    seen = {"elicitation": [], "sampling": [], "roots": 0, "progress": [], "log": []}

    async def progress(done, total, message):
        seen["progress"].append({"progress": done, "total": total, "message": message})

    async with AsyncExitStack() as stack:
        if options.stdio:
            server = StdioServerParameters(command=options.stdio[0], args=options.stdio[1:])
        else:
            headers = {}
            if options.key:
                headers["x-api-key"] = options.key
            if options.bearer:
                headers["authorization"] = f"Bearer {options.bearer}"
            http = await stack.enter_async_context(create_mcp_http_client(headers=headers))
            server = streamable_http_client(options.url, http_client=http)
        mode = "auto" if options.mode == "default" else options.mode
        extra = callbacks(options, seen) if options.callbacks else {}
        if options.callbacks:
            document["seen"] = seen
        client = await stack.enter_async_context(
            Client(server, mode=mode, read_timeout_seconds=options.timeout, **extra)
        )
        document["protocol_version"] = client.protocol_version
        document["server"] = client.server_info.name if client.server_info else None
        if options.callbacks and client.server_capabilities.logging and client.protocol_version < "2026-07-28":
            await client.set_logging_level("debug")
        document["tools"] = await all_tools(client)
        if not options.tool:
            return
        try:
            result = await client.call_tool(
                options.tool, options.arguments, progress_callback=progress if options.callbacks else None
            )
        except MCPError as refused:
            document["error"] = {"code": refused.code, "message": refused.message, "data": refused.data}
            return
        document["result"] = plain(result)
        document["is_error"] = bool(result.is_error)


def first_cause(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def main() -> int:
    options = parse_command_line()
    document = {"protocol_version": None, "server": None, "tools": None, "result": None, "is_error": None, "error": None}
    status = 0
    try:
        asyncio.run(asyncio.wait_for(converse(options, document), options.timeout))
    except Exception as failed:
        cause = first_cause(failed)
        document["error"] = {
            "type": type(cause).__name__,
            "code": getattr(cause, "code", None),
            "message": str(getattr(cause, "message", cause)),
            "data": getattr(cause, "data", None),
        }
        status = 1
    json.dump(document, sys.stdout, default=str)
    print()
    return status


if __name__ == "__main__":
    sys.exit(main())
