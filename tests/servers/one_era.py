"""The reference server of the Python SDK, restricted to one era: what a gateway has to bridge.

    cd $ENV/everything && $ENV/python/mcp/bin/python PATH/one_era.py legacy|modern --port PORT

`legacy` refuses whatever names 2026-07-28 as a TypeScript v1 server does, and asks with requests on its streams. `modern` refuses
whatever does not name it, has no sessions and no GET, and asks with `input_required` results. Tools and prompts whose original
knows only the other era's way of asking are replaced by twins of the same name that say the same; everything else is the
reference server's own.
"""

import argparse
import asyncio
import json
import logging
import os
import sys
from typing import Annotated, Any

import uvicorn
from mcp.server.mcpserver import Context, Elicit, ElicitationResult, Resolve
from mcp.server.mcpserver.prompts.base import Prompt, UserMessage
from mcp.types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitResult,
    InputRequiredResult,
    SamplingMessage,
    TextContent,
)

# The reference server is not installed; it lies in the directory this is started from.
sys.path.insert(0, os.getcwd())
from mcp_everything_server import server as reference  # noqa: E402

MODERN = "2026-07-28"
# No header at all is what the oldest ones send. A version nobody knows is the SDK's to refuse.
LEGACY = (None, "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
LEGACY_TWINS: list[Any] = []
MODERN_TWINS: list[Any] = []


def twin(era: list[Any]) -> Any:
    """Marks a function as the replacement of the reference server's tool of that name."""

    def mark(function: Any) -> Any:
        era.append(function)
        return function

    return mark


# --- Twins that ask by requests on the stream -------------------------------------------------------------------------


def form(**fields: str) -> dict[str, Any]:
    properties = {name: {"type": kind} for name, kind in fields.items()}
    return {"type": "object", "properties": properties, "required": list(fields)}


async def elicit(ctx: Context, message: str, **fields: str) -> ElicitResult:
    return await ctx.session.elicit_form(message, form(**fields), related_request_id=ctx.request_id)


async def sample(ctx: Context, prompt: str, max_tokens: int) -> CreateMessageResult:
    messages = [SamplingMessage(role="user", content=TextContent(type="text", text=prompt))]
    return await ctx.session.create_message(messages, max_tokens=max_tokens, related_request_id=ctx.request_id)


def given(answer: ElicitResult, field: str) -> Any:
    return answer.content.get(field) if answer.content else None


@twin(LEGACY_TWINS)
async def test_input_required_result_elicitation(ctx: Context) -> str:
    """Asks for a name"""
    answer = await elicit(ctx, "What is your name?", name="string")
    return f"Hello, {given(answer, 'name')}!"


@twin(LEGACY_TWINS)
async def test_input_required_result_sampling(ctx: Context) -> str:
    """Asks the client's model"""
    answer = await sample(ctx, "What is the capital of France?", 100)
    return f"Model said: {answer.content.text if answer.content.type == 'text' else '?'}"


@twin(LEGACY_TWINS)
async def test_input_required_result_list_roots(ctx: Context) -> str:
    """Asks for the client's roots, which the SDK does on the GET stream"""
    answer = await ctx.session.list_roots()
    return f"Client exposed {len(answer.roots)} root(s)."


@twin(LEGACY_TWINS)
async def test_input_required_result_request_state(ctx: Context) -> str:
    """Asks for a confirmation; the state is the open call itself"""
    await elicit(ctx, "Please confirm", ok="boolean")
    return "state-ok: confirmation received"


@twin(LEGACY_TWINS)
async def test_input_required_result_tampered_state(ctx: Context) -> str:
    """Asks for a confirmation under a state that nobody may alter"""
    await elicit(ctx, "Please confirm", ok="boolean")
    return "state-ok: round-1"


@twin(LEGACY_TWINS)
async def test_input_required_result_multiple_inputs(ctx: Context) -> str:
    """Asks three questions of different kinds at once"""
    await asyncio.gather(
        elicit(ctx, "What is your name?", name="string"),
        sample(ctx, "Generate a greeting", 50),
        ctx.session.list_roots(),
    )
    return "All inputs received."


@twin(LEGACY_TWINS)
async def test_input_required_result_multi_round(ctx: Context) -> str:
    """Asks one question after the other"""
    name = await elicit(ctx, "Step 1: What is your name?", name="string")
    color = await elicit(ctx, "Step 2: What is your favorite color?", color="string")
    return f"{given(name, 'name')} likes {given(color, 'color')}."


@twin(LEGACY_TWINS)
async def test_input_required_result_capabilities(ctx: Context) -> str:
    """Asks only what the client declared"""
    declared = ctx.client_capabilities
    questions: list[Any] = []
    if declared is None or declared.sampling is not None:
        questions.append(sample(ctx, "Say hello", 50))
    if declared is None or declared.elicitation is not None:
        questions.append(elicit(ctx, "What is your name?", name="string"))
    answers = await asyncio.gather(*questions)
    return f"{len(answers)} answer(s)"


@twin(LEGACY_TWINS)
async def test_trigger_tool_change(ctx: Context) -> str:
    """Announces a changed tool list to the session; the original only tells `subscriptions/listen`"""
    await ctx.session.send_tool_list_changed()
    return "tool list changed"


@twin(LEGACY_TWINS)
async def test_trigger_prompt_change(ctx: Context) -> str:
    """Announces a changed prompt list to the session"""
    await ctx.session.send_prompt_list_changed()
    return "prompt list changed"


async def asking_prompt(ctx: Context) -> list[UserMessage]:
    """Asks what the prompt is about"""
    answer = await elicit(ctx, "What context should the prompt use?", context="string")
    text = f"Use the following context: {given(answer, 'context')}"
    return [UserMessage(role="user", content=TextContent(type="text", text=text))]


# --- Twins that ask by `input_required` -------------------------------------------------------------------------------


@twin(MODERN_TWINS)
async def test_sampling(prompt: str, ctx: Context) -> str | InputRequiredResult:
    """Tests server-initiated sampling (LLM completion request)"""
    answer = (ctx.input_responses or {}).get("answer")
    if isinstance(answer, CreateMessageResult):
        return f"LLM response: {answer.content.text if answer.content.type == 'text' else 'No response'}"
    messages = [SamplingMessage(role="user", content=TextContent(type="text", text=prompt))]
    question = CreateMessageRequest(params=CreateMessageRequestParams(messages=messages, max_tokens=100))
    return InputRequiredResult(input_requests={"answer": question})


def told(outcome: Any) -> str:
    content = outcome.data.model_dump_json() if outcome.action == "accept" else "{}"
    return f"action={outcome.action}, content={content}"


def ask_for_response(message: str) -> Elicit[reference.UserResponse]:
    return Elicit(message, reference.UserResponse)


@twin(MODERN_TWINS)
async def test_elicitation(
    message: str, answer: Annotated[ElicitationResult[reference.UserResponse], Resolve(ask_for_response)]
) -> str:
    """Tests server-initiated elicitation (user input request)"""
    return f"User response: {told(answer)}"


def ask_with_defaults() -> Elicit[reference.SEP1034DefaultsSchema]:
    return Elicit("Please provide user information", reference.SEP1034DefaultsSchema)


@twin(MODERN_TWINS)
async def test_elicitation_sep1034_defaults(
    answer: Annotated[ElicitationResult[reference.SEP1034DefaultsSchema], Resolve(ask_with_defaults)],
) -> str:
    """Tests elicitation with default values for all primitive types (SEP-1034)"""
    return f"Elicitation result: {told(answer)}"


def ask_with_choices() -> Elicit[reference.EnumSchemasTestSchema]:
    return Elicit("Please select values using different enum schema types", reference.EnumSchemasTestSchema)


@twin(MODERN_TWINS)
async def test_elicitation_sep1330_enums(
    answer: Annotated[ElicitationResult[reference.EnumSchemasTestSchema], Resolve(ask_with_choices)],
) -> str:
    """Tests elicitation with enum schema variations per SEP-1330"""
    return f"Elicitation completed: {told(answer)}"


@twin(MODERN_TWINS)
async def test_reconnection(ctx: Context) -> str:
    """Logs twice; a modern stream cannot be closed and resumed"""
    await ctx.info("Before disconnect")
    await asyncio.sleep(0.2)
    await ctx.info("After reconnect")
    return "Reconnection test completed"


# --- The door ---------------------------------------------------------------------------------------------------------


def refusal(code: int, message: str, data: Any = None) -> bytes:
    error = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()


def only(era: str, app: Any) -> Any:
    """Lets only requests of one era through; the header decides, as it does for the SDK."""

    async def door(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return await app(scope, receive, send)
        headers = {name.decode().lower(): value.decode() for name, value in scope["headers"]}
        version = headers.get("mcp-protocol-version")
        if era == "legacy" and version == MODERN:
            status, body = 400, refusal(-32000, "Bad Request: Server not initialized")
        elif era == "modern" and scope["method"] != "POST":
            status, body = 405, refusal(-32000, "Method not allowed")
        elif era == "modern" and version in LEGACY:
            data = {"supported": [MODERN], "requested": version or ""}
            status, body = 400, refusal(-32022, "Unsupported protocol version", data)
        else:
            return await app(scope, receive, send)
        start = {"type": "http.response.start", "status": status, "headers": [(b"content-type", b"application/json")]}
        await send(start)
        await send({"type": "http.response.body", "body": body})

    return door


def main() -> None:
    parser = argparse.ArgumentParser(description="the reference server, restricted to one era")
    parser.add_argument("era", choices=["legacy", "modern"])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--log-level", default="WARNING")
    options = parser.parse_args()
    logging.basicConfig(level=options.log_level)

    for function in LEGACY_TWINS if options.era == "legacy" else MODERN_TWINS:
        reference.mcp.remove_tool(function.__name__)
        reference.mcp.add_tool(function)
    if options.era == "legacy":
        name = "test_input_required_result_prompt"
        reference.mcp.remove_prompt(name)
        reference.mcp.add_prompt(Prompt.from_function(asking_prompt, name=name))

    app = reference.mcp.streamable_http_app(event_store=reference.event_store, retry_interval=100)
    uvicorn.run(only(options.era, app), host="127.0.0.1", port=options.port, log_level=options.log_level.lower())


if __name__ == "__main__":
    main()
