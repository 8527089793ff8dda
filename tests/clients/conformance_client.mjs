// The TypeScript SDK's client (npm `@modelcontextprotocol/client`) for the client side of the MCP conformance suite; the package brings none.
//
//     conformance_client.mjs URL
//
// The suite says in the environment which scenario it plays (MCP_CONFORMANCE_SCENARIO), in which revision (..._PROTOCOL_VERSION), and for
// some scenarios what to do (..._CONTEXT). Scenarios about authorization are not played here. Exit 0 if the conversation ended well.

import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const repository = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..');
const environment = process.env.PORTREEVE_TEST_ENV || join(repository, 'target', 'test-env');
const packages = createRequire(join(resolve(environment), 'node', 'package.json'));
const { Client, StreamableHTTPClientTransport } = await import(pathToFileURL(packages.resolve('@modelcontextprotocol/client')));

const url = new URL(process.argv.at(-1));
const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
const modern = (process.env.MCP_CONFORMANCE_PROTOCOL_VERSION ?? '') >= '2026-07-28';
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT || '{}');

/** The least a tool's schema accepts. */
function smallest(schema) {
  const byType = { string: 'x', integer: 0, number: 0, boolean: false, object: {}, array: [], null: null };
  return Object.fromEntries((schema.required ?? []).map(name => [name, byType[schema.properties?.[name]?.type] ?? 'x']));
}

/** A form answered with its own defaults. */
function defaults(schema) {
  const fields = Object.entries(schema?.properties ?? {}).filter(([, field]) => 'default' in field);
  return Object.fromEntries(fields.map(([name, field]) => [name, field.default]));
}

async function connected({ capabilities = {}, era = modern ? 'auto' : 'legacy', elicit } = {}) {
  const versionNegotiation = era === 'auto' ? { mode: 'auto' } : undefined;
  const client = new Client({ name: 'portreeve-conformance', version: '1.0.0' }, { capabilities, versionNegotiation });
  if (capabilities.elicitation) {
    client.setRequestHandler('elicitation/create', async ({ params }) => ({ action: 'accept', content: elicit(params) }));
  }
  if (capabilities.sampling) {
    const content = { type: 'text', text: '' };
    client.setRequestHandler('sampling/createMessage', async () => ({ role: 'assistant', content, model: 'none' }));
  }
  if (capabilities.roots) client.setRequestHandler('roots/list', async () => ({ roots: [] }));
  await client.connect(new StreamableHTTPClientTransport(url));
  return client;
}

const call = (client, name, args = {}) => client.callTool({ name, arguments: args });

/** A call that the suite expects to fail for some tools. */
const attempt = (client, name, args) => call(client, name, args).catch(error => console.error(`${name}: ${error.message}`));

const scenarios = {
  async initialize() {
    const client = await connected();
    await client.listTools();
    return client;
  },
  async tools_call() {
    const client = await connected();
    await client.listTools();
    await call(client, 'add_numbers', { a: 5, b: 3 });
    return client;
  },
  async 'sse-retry'() {
    const client = await connected();
    await client.listTools();
    await call(client, 'test_reconnection');
    return client;
  },
  // The suite's server for this one speaks the legacy era alone, whatever revision is named.
  async 'json-schema-ref-no-deref'() {
    const client = await connected({ era: 'legacy' });
    await client.listTools();
    return client;
  },
  async 'json-schema-2020-12-preservation'() {
    const client = await connected();
    const { tools } = await client.listTools();
    const focal = tools.find(tool => tool.name === 'json_schema_2020_12_tool');
    await call(client, 'json_schema_echo', { schema: focal.inputSchema });
    return client;
  },
  async 'request-metadata'() {
    const capabilities = { elicitation: { form: {} }, sampling: {}, roots: {} };
    const client = await connected({ capabilities, elicit: params => defaults(params.requestedSchema) });
    await client.listTools();
    await call(client, 'add_numbers', { a: 5, b: 3 });
    return client;
  },
  async 'http-standard-headers'() {
    const client = await connected();
    const [tool] = (await client.listTools()).tools;
    if (tool) await call(client, tool.name, smallest(tool.inputSchema));
    const [resource] = (await client.listResources()).resources;
    if (resource) await client.readResource({ uri: resource.uri });
    const [prompt] = (await client.listPrompts()).prompts;
    if (prompt) await client.getPrompt({ name: prompt.name });
    return client;
  },
  async 'http-invalid-tool-headers'() {
    const client = await connected();
    for (const tool of (await client.listTools()).tools) await attempt(client, tool.name, smallest(tool.inputSchema));
    return client;
  },
  async 'http-custom-headers'() {
    const client = await connected();
    const shown = new Set((await client.listTools()).tools.map(tool => tool.name));
    for (const { name, arguments: args } of context.toolCalls ?? []) if (shown.has(name)) await attempt(client, name, args ?? {});
    return client;
  },
  async 'elicitation-sep1034-client-defaults'() {
    const capabilities = { elicitation: { form: { applyDefaults: true } } };
    const client = await connected({ capabilities, elicit: params => defaults(params.requestedSchema) });
    await client.listTools();
    await call(client, 'test_client_elicitation_defaults');
    return client;
  },
  async 'sep-2322-client-request-state'() {
    const client = await connected({ capabilities: { elicitation: { form: {} } }, elicit: () => ({ confirmed: true }) });
    await client.listTools();
    for (const state of ['echo_state', 'unrelated', 'no_state', 'no_result_type']) await call(client, `test_mrtr_${state}`);
    return client;
  },
};

if (!Object.hasOwn(scenarios, scenario ?? '')) {
  console.error(`unknown scenario: ${scenario}`);
  process.exit(2);
}
try {
  const client = await scenarios[scenario]();
  await client.close();
} catch (error) {
  console.error(error);
  process.exit(1);
}
process.exit(0);
