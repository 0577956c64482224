// The tools that both lines of the TypeScript SDK offer.

const PASSWORD = "postgres://svc:hunter2@db/prod";
const RECORD = "tower-outcome/failure";

const text = (text) => ({ content: [{ type: "text", text }] });
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/**
 * Offers the tools on an `McpServer`. `z` is the SDK's zod; `object` makes a schema of fields in the
 * form that the SDK takes; `raise` makes the SDK's own protocol error; `notify` sends a
 * notification that belongs to the call, and `close` closes the call's stream.
 */
export function register(server, { z, object, raise, notify, close }) {
  const add = (name, description, fields, run) =>
    server.registerTool(name, { description, inputSchema: object(fields) }, run);

  add("ok", "Returns the text.", { text: z.string().default("ok") }, async (args) =>
    text(args.text));
  add("fail_raise", "Throws, with a password in the text.", { text: z.string().default("") },
    async (args) => {
      throw new Error(`cannot connect to ${PASSWORD}${args.text}`);
    });
  add("fail_is_error", "Returns an error result that does not say what it means.",
    { text: z.string() }, async (args) => ({ ...text(args.text), isError: true }));
  add("fail_protocol", "Fails with a JSON-RPC error, where the SDK lets a tool do that.",
    { code: z.number().int(), message: z.string() }, async (args) => {
      throw raise(args.code, args.message);
    });
  add("bad_arguments", "Takes an integer and nothing else.", { count: z.number().int() },
    async (args) => text(String(args.count)));
  add("slow", "Sleeps.", { ms: z.number().int() }, async (args) => {
    await sleep(args.ms);
    return text(`slept ${args.ms} ms`);
  });
  add("big", "Returns that much text.", { bytes: z.number().int() }, async (args) =>
    text("x".repeat(args.bytes)));
  add("progress", "Sends progress notifications first.", { n: z.number().int() },
    async (args, context) => {
      for (let done = 1; done <= args.n; done += 1) await notify(context, done, args.n);
      return text(`reported ${args.n} times`);
    });
  add("answer_later", "Closes its stream: the client has to resume it to get the answer.",
    { ms: z.number().int() }, async (args, context) => {
      close(context);
      await sleep(args.ms);
      return text("the answer came later");
    });
  add("declared", "Returns an error result that declares what it means.",
    {
      outcome: z.string(),
      code: z.string(),
      actor: z.string().optional(),
      level: z.string().optional(),
    },
    async (record) => ({
      ...text(`Declared as '${record.code}'.`),
      isError: true,
      _meta: { [RECORD]: record },
    }));
  add("exit", "Ends the process in the middle of the call.", {}, async () => {
    // By then the head of the answer is out.
    await sleep(100);
    process.exit(1);
  });
}
