"""The official Python SDK as a client, both its lines.

`client.py --plan JSON`: a list of `[url, [[tool, arguments], ...]]`, a connection for each. Prints
what a program that uses the SDK gets of each call, as one JSON object a line.
"""

import argparse
import asyncio
import json
import os
from contextlib import asynccontextmanager
from datetime import timedelta

# Read when the SDK is imported.
os.environ.update(OTEL_SDK_DISABLED="true")

import mcp
from mcp import types

NAME = types.Implementation(name="real-client", version="1")
SECONDS = 20


@asynccontextmanager
async def connected(url):
    """A client that has said hello, and how long it waits, in the form that the SDK takes."""
    if hasattr(mcp, "Client"):
        async with mcp.Client(url, client_info=NAME) as client:
            yield client, SECONDS
    else:  # mcp 1.x
        from mcp.client.streamable_http import streamable_http_client

        async with streamable_http_client(url) as (read, write, _):
            async with mcp.ClientSession(read, write, client_info=NAME) as client:
                await client.initialize()
                yield client, timedelta(seconds=SECONDS)


async def call(client, timeout, tool, arguments):
    told = []

    async def progress(done, total, message):
        told.append(done)

    try:
        result = await client.call_tool(tool, arguments, timeout, progress)
    except Exception as error:
        return {"tool": tool, "raised": f"{type(error).__name__}: {error}"}
    result = result.model_dump(by_alias=True)
    texts = [block.get("text") for block in result["content"]]
    return {"tool": tool, "isError": bool(result["isError"]), "texts": texts, "progress": told}


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plan", type=json.loads)
    for url, calls in parser.parse_args().plan:
        async with connected(url) as (client, timeout):
            for tool, arguments in calls:
                print(json.dumps(await call(client, timeout, tool, arguments)), flush=True)


asyncio.run(main())
