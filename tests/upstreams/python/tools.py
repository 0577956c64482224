"""The tools that all servers in this folder offer, whatever their SDK, and how they are served."""

import argparse
import asyncio
import os
import socket

import mcp.types
import pydantic
import uvicorn

try:
    from mcp import MCPError
except ImportError:  # mcp 1.x
    from mcp.shared.exceptions import McpError

    def MCPError(code, message, data=None):
        return McpError(mcp.types.ErrorData(code=code, message=message, data=data))


PASSWORD = "postgres://svc:hunter2@db/prod"
RECORD = "tower-outcome/failure"


def error_result(text, meta=None):
    """An explicit error result. Validated, so that each SDK takes the names on the wire."""
    content = [{"type": "text", "text": text}]
    result = {"content": content, "isError": True}
    return mcp.types.CallToolResult.model_validate(result | ({"_meta": meta} if meta else {}))


def register(add, context, to_error=error_result):
    """Offers the tools: `add` takes a function, `context` is the SDK's type for a call's context,
    `to_error` makes an error result that the SDK lets through."""

    def ok(text: str = "ok") -> str:
        """Returns the text."""
        return text

    def fail_raise(text: str = "") -> str:
        """Raises, with a password in the exception's text."""
        raise RuntimeError(f"cannot connect to {PASSWORD}{text}")

    def fail_is_error(text: str):
        """Returns an error result that does not say what it means."""
        return to_error(text)

    def fail_protocol(code: int, message: str) -> str:
        """Fails with a JSON-RPC error."""
        raise MCPError(code=code, message=message)

    def bad_arguments(count: int) -> str:
        """Takes an integer and nothing else."""
        return str(count)

    def fail_validation() -> str:
        """Fails to validate something of its own, in pydantic's words for bad arguments."""
        return str(pydantic.TypeAdapter(int).validate_python("not an integer"))

    async def slow(ms: int) -> str:
        """Sleeps."""
        await asyncio.sleep(ms / 1000)
        return f"slept {ms} ms"

    def big(bytes: int) -> str:
        """Returns that much text."""
        return "x" * bytes

    async def progress(n: int, ctx: context) -> str:
        """Sends progress notifications first, where the call has a progress token."""
        for done in range(1, n + 1):
            await ctx.report_progress(done, n)
        return f"reported {n} times"

    async def answer_later(ms: int, ctx: context) -> str:
        """Closes its stream, so that the client has to resume it to get the answer."""
        await ctx.close_sse_stream()
        await asyncio.sleep(ms / 1000)
        return "the answer came later"

    def declared(
        outcome: str, code: str, actor: str | None = None, level: str | None = None
    ):
        """Returns an error result that declares what it means."""
        record = {"outcome": outcome, "code": code, "actor": actor, "level": level}
        record = {key: value for key, value in record.items() if value is not None}
        return to_error(f"Declared as '{code}'.", {RECORD: record})

    def exit() -> str:
        """Ends the process in the middle of the call."""
        os._exit(1)

    for tool in (ok, fail_raise, fail_is_error, fail_protocol, fail_validation, bad_arguments, slow,
                 big, progress, answer_later, declared, exit):
        add(tool)


def flags():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--mode", choices=("stateful", "stateless", "json"), default="stateful")
    return parser.parse_args()


def serve(app, port):
    """Serves until killed. The socket is bound here, so that the line that names it is true."""
    listener = socket.create_server(("127.0.0.1", port))
    print(f"listening 127.0.0.1:{listener.getsockname()[1]}", flush=True)
    config = uvicorn.Config(app, log_level="warning", access_log=False)
    uvicorn.Server(config).run(sockets=[listener])
