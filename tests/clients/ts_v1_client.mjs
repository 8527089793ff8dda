// The client of the TypeScript SDK's first generation (npm `@modelcontextprotocol/sdk`) as a command, on the transports that only it has.
//
//     ts_v1_client.mjs URL --transport http|sse|websocket --key KEY [--tool NAME [--arguments JSON]] [--elicit accept|decline|cancel]
//
// It prints one JSON document: `protocol_version`, `tools`, `result`, `error`, and in `seen` what the server asked or told on the way.
// Exit 1 means that the conversation itself failed.

import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const repository = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..');
const environment = process.env.PORTREEVE_TEST_ENV || join(repository, 'target', 'test-env');
const packages = createRequire(join(resolve(environment), 'node', 'package.json'));
const load = async name => import(pathToFileURL(packages.resolve(`@modelcontextprotocol/sdk/${name}`)));

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    transport: { type: 'string' },
    key: { type: 'string' },
    tool: { type: 'string' },
    arguments: { type: 'string', default: '{}' },
    elicit: { type: 'string', default: 'accept' },
  },
});
const url = new URL(positionals[0]);
const headers = { 'x-api-key': options.key };

async function transport() {
  if (options.transport === 'websocket') {
    // The transport was made for browsers, whose sockets have no headers of their own. Node's have.
    const Plain = globalThis.WebSocket;
    globalThis.WebSocket = class extends Plain {
      constructor(address, protocols) {
        super(address, { protocols, headers });
      }
    };
    const { WebSocketClientTransport } = await load('client/websocket.js');
    url.protocol = 'ws:';
    return new WebSocketClientTransport(url);
  }
  if (options.transport === 'sse') {
    const { SSEClientTransport } = await load('client/sse.js');
    return new SSEClientTransport(url, { requestInit: { headers } });
  }
  const { StreamableHTTPClientTransport } = await load('client/streamableHttp.js');
  return new StreamableHTTPClientTransport(url, { requestInit: { headers } });
}

const { Client } = await load('client/index.js');
const { ElicitRequestSchema } = await load('types.js');

const seen = { elicitation: [], progress: [], late: [] };

async function converse(document) {
  const client = new Client({ name: 'portreeve-tests', version: '1.0.0' }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
    seen.elicitation.push(params.message);
    return options.elicit === 'accept' ? { action: 'accept', content: { confirmation: 'yes' } } : { action: options.elicit };
  });
  // An answer is taken at once, what came right before it a moment later, when nobody waits for it any more: it did arrive.
  client.onerror = error => {
    if (error.message.includes('progress notification for an unknown token')) seen.late.push(error.message);
  };
  const wire = await transport();
  // The only place where this generation tells what was settled on.
  wire.setProtocolVersion = (set => version => {
    document.protocol_version = version;
    set?.call(wire, version);
  })(wire.setProtocolVersion);
  await client.connect(wire);
  try {
    document.tools = (await client.listTools()).tools.map(tool => tool.name);
    if (!options.tool) return;
    const params = { name: options.tool, arguments: JSON.parse(options.arguments) };
    document.result = await client.callTool(params, undefined, { onprogress: step => void seen.progress.push(step) });
  } catch (refused) {
    if (typeof refused.code !== 'number') throw refused;
    document.error = { code: refused.code, message: refused.message };
  } finally {
    await client.close().catch(() => {});
  }
}

const document = { protocol_version: null, tools: null, result: null, error: null, seen };
let status = 0;
try {
  await converse(document);
} catch (failed) {
  document.error = { code: null, message: String(failed?.message ?? failed) };
  status = 1;
}
process.stdout.write(`${JSON.stringify(document)}\n`, () => process.exit(status));
