// The tools over the TypeScript SDK, either of its lines:
// `node server.mjs --modules DIR --sdk 1 --port 0 --mode stateful`.
//
// The SDK is installed elsewhere (DIR/node_modules), which is why it is required and not imported.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { parseArgs } from "node:util";

import { Events } from "./events.mjs";
import { register } from "./tools.mjs";

const { values: flags } = parseArgs({
  options: {
    modules: { type: "string" },
    sdk: { type: "string", default: "1" },
    port: { type: "string", default: "0" },
    mode: { type: "string", default: "stateful" },
  },
});
const load = createRequire(resolve(flags.modules, "package.json"));
const z = load("zod");
const sdk = flags.sdk === "1" ? first() : second();

/** What the server needs of the SDK's first line. */
function first() {
  const { McpServer } = load("@modelcontextprotocol/sdk/server/mcp.js");
  const { StreamableHTTPServerTransport } = load(
    "@modelcontextprotocol/sdk/server/streamableHttp.js");
  const { McpError } = load("@modelcontextprotocol/sdk/types.js");
  const notify = (extra, progress, total) => {
    const progressToken = extra._meta?.progressToken;
    if (progressToken === undefined) return undefined;
    const params = { progressToken, progress, total };
    return extra.sendNotification({ method: "notifications/progress", params });
  };
  return {
    McpServer,
    Transport: StreamableHTTPServerTransport,
    tools: {
      z,
      object: (fields) => fields,
      raise: (code, message) => new McpError(code, message),
      notify,
      close: (extra) => extra.closeSSEStream?.(),
    },
  };
}

/** What the server needs of the SDK's second line, which speaks 2026-07-28 too. */
function second() {
  const { McpServer, ProtocolError, createMcpHandler, isLegacyRequest } = load(
    "@modelcontextprotocol/server");
  const { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } = load(
    "@modelcontextprotocol/node");
  const notify = (context, progress, total) => {
    const progressToken = context.mcpReq._meta?.progressToken;
    if (progressToken === undefined) return undefined;
    const params = { progressToken, progress, total };
    return context.mcpReq.notify({ method: "notifications/progress", params });
  };
  const handler = createMcpHandler(server, { legacy: "reject" });
  const modern = toNodeHandler(handler);
  return {
    McpServer,
    Transport: NodeStreamableHTTPServerTransport,
    /** Answers it if it is of the revision without sessions. */
    async answerModern(request, response, body) {
      if (await isLegacyRequest(await toWebRequest(request, body), body)) return false;
      await modern(request, response, body);
      return true;
    },
    tools: {
      z,
      object: (fields) => z.object(fields),
      raise: (code, message) => new ProtocolError(code, message),
      notify,
      close: (context) => context.http?.closeSSE?.(),
    },
  };
}

function server() {
  const server = new sdk.McpServer({ name: "typescript", version: "1" });
  register(server, sdk.tools);
  return server;
}

const sessions = new Map();

/** The transport of the request's session; of a new one where it names none. */
async function transport(request) {
  const id = request.headers["mcp-session-id"];
  if (flags.mode === "stateful" && id !== undefined && sessions.size > 0) {
    // Any transport refuses a session that is not its own, in the SDK's words.
    return sessions.get(id) ?? sessions.values().next().value;
  }
  const transport = new sdk.Transport({
    sessionIdGenerator: flags.mode === "stateful" ? randomUUID : undefined,
    enableJsonResponse: flags.mode === "json",
    eventStore: flags.mode === "stateful" ? new Events() : undefined,
    onsessioninitialized: (id) => sessions.set(id, transport),
  });
  await server().connect(transport);
  return transport;
}

async function answer(request, response) {
  const version = request.headers["mcp-protocol-version"];
  if (sdk.answerModern && version === "2026-07-28") {
    const body = await read(request);
    if (body !== undefined && (await sdk.answerModern(request, response, body))) return;
    await (await transport(request)).handleRequest(request, response, body);
    return;
  }
  await (await transport(request)).handleRequest(request, response);
}

/** The request's JSON; nothing where it is none. */
async function read(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    return undefined;
  }
}

const http = createServer((request, response) => {
  answer(request, response).catch((error) => {
    console.error(error);
    response.destroy();
  });
});
http.listen(Number(flags.port), "127.0.0.1", () => {
  console.log(`listening 127.0.0.1:${http.address().port}`);
});
