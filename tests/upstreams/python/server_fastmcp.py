"""The tools over FastMCP, the framework: `server_fastmcp.py --port 0 --mode stateful`."""

import os

# Read when FastMCP is imported.
os.environ.update(
    FASTMCP_CHECK_FOR_UPDATES="off",
    FASTMCP_LOG_ENABLED="false",
    FASTMCP_SHOW_SERVER_BANNER="false",
    FASTMCP_TELEMETRY_MODE="off",
    OTEL_SDK_DISABLED="true",
)

from fastmcp import Context, FastMCP
from fastmcp.server.event_store import EventStore
from fastmcp.tools.base import ToolResult

import tools


def to_error(text, meta=None):
    return ToolResult(content=text, meta=meta, is_error=True)


def main():
    flags = tools.flags()
    server = FastMCP("fastmcp")
    tools.register(server.tool, Context, to_error)
    stateful = flags.mode == "stateful"
    app = server.http_app(
        path="/mcp",
        json_response=flags.mode == "json",
        stateless_http=not stateful,
        event_store=EventStore() if stateful else None,
    )
    tools.serve(app, flags.port)


main()
