// The official TypeScript SDK as a client:
// `node client.mjs --modules DIR --plan JSON`, a list of `[url, [[tool, arguments], ...]]`, a
// connection for each. Prints what a program that uses the SDK gets of each call, as one JSON object
// a line.
//
// The SDK is installed elsewhere (DIR/node_modules), which is why it is required and not imported.
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { parseArgs } from "node:util";

const { values: flags } = parseArgs({
  options: {
    modules: { type: "string" },
    sdk: { type: "string" },
    plan: { type: "string" },
  },
});
const load = createRequire(resolve(flags.modules, "package.json"));
const { Client } = load("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = load(
  "@modelcontextprotocol/sdk/client/streamableHttp.js");

async function call(client, tool, args) {
  const progress = [];
  const options = { timeout: 20_000, onprogress: (step) => progress.push(step.progress) };
  try {
    const result = await client.callTool({ name: tool, arguments: args }, undefined, options);
    const texts = result.content.map((block) => block.text);
    return { tool, isError: result.isError === true, texts, progress };
  } catch (error) {
    return { tool, raised: `${error.name}: ${error.message}` };
  }
}

for (const [url, calls] of JSON.parse(flags.plan)) {
  const client = new Client({ name: "real-client", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  for (const [tool, args] of calls) console.log(JSON.stringify(await call(client, tool, args)));
  await client.close();
}
