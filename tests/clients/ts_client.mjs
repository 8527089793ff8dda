// A real MCP client (npm `@modelcontextprotocol/client`) as a command: connect, list the tools, perhaps call one, print
// one JSON document.
//
//     ts_client.mjs URL [--mode legacy|auto] [--key KEY | --bearer TOKEN] [--tool NAME [--arguments JSON]]
//                       [--callbacks] [--elicit accept|decline|cancel]
//     ts_client.mjs --stdio COMMAND ARG...          (last on the line)
//
// The document is that of python_client.py: `protocol_version`, `server`, `tools`, `result`, `is_error`, `error`, and with
// `--callbacks` what the server asked or told on the way in `seen`. Exit 1 means that the conversation itself failed.
// Packages are looked up in $PORTREEVE_TEST_ENV/node (default: target/test-env of this repository).

import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const repository = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..');
const environment = process.env.PORTREEVE_TEST_ENV || join(repository, 'target', 'test-env');
const packages = createRequire(join(resolve(environment), 'node', 'package.json'));
const load = name => import(pathToFileURL(packages.resolve(name)));

const { Client, StreamableHTTPClientTransport } = await load('@modelcontextprotocol/client');

const argv = process.argv.slice(2);
const cut = argv.indexOf('--stdio');
const command = cut < 0 ? undefined : argv.slice(cut + 1);
const { values: options, positionals } = parseArgs({
  args: cut < 0 ? argv : argv.slice(0, cut),
  allowPositionals: true,
  options: {
    mode: { type: 'string', default: 'legacy' },
    key: { type: 'string' },
    bearer: { type: 'string' },
    tool: { type: 'string' },
    arguments: { type: 'string', default: '{}' },
    callbacks: { type: 'boolean', default: false },
    elicit: { type: 'string', default: 'accept' },
    timeout: { type: 'string', default: '60' },
  },
});
if (positionals.length !== (command ? 0 : 1) || !['legacy', 'auto', 'default'].includes(options.mode)) {
  console.error('usage: ts_client.mjs URL [--mode legacy|auto] [--key KEY] [--tool NAME --arguments JSON] [--callbacks]');
  process.exit(2);
}

/** An answer which a requested schema accepts: its defaults, or the smallest value of each type. */
function filledForm(schema) {
  const byType = { boolean: true, integer: 1, number: 1, array: [], string: 'test' };
  const value = field => {
    if ('default' in field) return field.default;
    if (field.enum?.length) return field.enum[0];
    if (field.oneOf?.length) return field.oneOf[0].const;
    if (field.format === 'email') return 'test@example.com';
    if ((field.type === 'integer' || field.type === 'number') && 'minimum' in field) return field.minimum;
    return byType[field.type] ?? 'test';
  };
  return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, field]) => [name, value(field)]));
}

const seen = { elicitation: [], sampling: [], roots: 0, progress: [], log: [] };

function offerCallbacks(client) {
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    seen.elicitation.push(params);
    if (options.elicit !== 'accept') return { action: options.elicit };
    return params.requestedSchema ? { action: 'accept', content: filledForm(params.requestedSchema) } : { action: 'accept' };
  });
  client.setRequestHandler('sampling/createMessage', async ({ params }) => {
    seen.sampling.push(params);
    const content = { type: 'text', text: 'a sampled answer' };
    return { role: 'assistant', content, model: 'test-model', stopReason: 'endTurn' };
  });
  client.setRequestHandler('roots/list', async () => {
    seen.roots += 1;
    return { roots: [{ uri: 'file:///test-root', name: 'test' }] };
  });
  client.setNotificationHandler('notifications/message', ({ params }) => void seen.log.push(params));
}

async function transport() {
  if (command) {
    const { StdioClientTransport } = await load('@modelcontextprotocol/client/stdio');
    return new StdioClientTransport({ command: command[0], args: command.slice(1) });
  }
  const headers = {};
  if (options.key) headers['x-api-key'] = options.key;
  if (options.bearer) headers.authorization = `Bearer ${options.bearer}`;
  return new StreamableHTTPClientTransport(new URL(positionals[0]), { requestInit: { headers } });
}

/** Absent and undefined become null, so that every document has the same keys. */
function described(error) {
  const { code = null, data = null, message } = error;
  return { type: error.constructor.name, code, message, data };
}

async function converse(document) {
  const capabilities = options.callbacks ? { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} } : {};
  const versionNegotiation = options.mode === 'auto' ? { mode: 'auto' } : undefined;
  const client = new Client({ name: 'portreeve-tests', version: '1.0.0' }, { capabilities, versionNegotiation });
  if (options.callbacks) {
    document.seen = seen;
    offerCallbacks(client);
  }
  const timeout = Number(options.timeout) * 1000;
  await client.connect(await transport(), { timeout });
  try {
    document.protocol_version = client.getNegotiatedProtocolVersion() ?? null;
    document.server = client.getServerVersion()?.name ?? null;
    const modern = client.getProtocolEra() === 'modern';
    if (options.callbacks && !modern && client.getServerCapabilities()?.logging) {
      await client.setLoggingLevel('debug', { timeout });
    }
    document.tools = (await client.listTools(undefined, { timeout })).tools.map(tool => tool.name);
    if (!options.tool) return;
    const params = { name: options.tool, arguments: JSON.parse(options.arguments) };
    if (options.callbacks && modern) params._meta = { 'io.modelcontextprotocol/logLevel': 'debug' };
    const onprogress = options.callbacks ? step => void seen.progress.push(step) : undefined;
    try {
      document.result = await client.callTool(params, { timeout, onprogress });
    } catch (refused) {
      // A JSON-RPC error is an answer; anything else ends the conversation.
      if (typeof refused.code !== 'number') throw refused;
      document.error = described(refused);
      return;
    }
    document.is_error = document.result.isError === true;
  } finally {
    await client.close().catch(() => {});
  }
}

const document = { protocol_version: null, server: null, tools: null, result: null, is_error: null, error: null };
let status = 0;
try {
  await converse(document);
} catch (failed) {
  document.error = described(failed);
  status = 1;
}
process.stdout.write(`${JSON.stringify(document)}\n`, () => process.exit(status));
