"""The tools over the official SDK, both its lines: `server_mcp.py --port 0 --mode stateful`."""

import os

# Read when the SDK is imported.
os.environ.update(OTEL_SDK_DISABLED="true")

from mcp.server.streamable_http import EventMessage, EventStore

import tools

try:
    from mcp.server.mcpserver import Context, MCPServer
except ImportError:  # mcp 1.x
    from mcp.server.fastmcp import Context, FastMCP

    MCPServer = None


class Events(EventStore):
    """Keeps every event, in order: the id of an event is its place."""

    def __init__(self):
        self.events = []

    async def store_event(self, stream_id, message):
        self.events.append((stream_id, message))
        return str(len(self.events))

    async def replay_events_after(self, last_event_id, send_callback):
        place = int(last_event_id)
        stream_id = self.events[place - 1][0]
        for place, (stream, message) in enumerate(self.events[place:], place + 1):
            if stream == stream_id and message is not None:
                await send_callback(EventMessage(message, str(place)))
        return stream_id


def app(mode):
    stateful = mode == "stateful"
    how = {
        "json_response": mode == "json",
        "stateless_http": not stateful,
        "event_store": Events() if stateful else None,
    }
    if MCPServer is None:
        server = FastMCP("mcp", log_level="CRITICAL", **how)
        how = {}
    else:
        server = MCPServer("mcp", version="1", log_level="CRITICAL")
    tools.register(server.add_tool, Context)
    return server.streamable_http_app(**how)


def main():
    flags = tools.flags()
    tools.serve(app(flags.mode), flags.port)


main()
