// Preload for Node servers that would listen on every interface: `node --require loopback_only.cjs server.js`.
// A test server is nobody else's business, so whatever host was asked for, it gets 127.0.0.1.
'use strict';

const net = require('node:net');

const LOOPBACK = '127.0.0.1';
const listen = net.Server.prototype.listen;

net.Server.prototype.listen = function (...args) {
  const callback = typeof args.at(-1) === 'function' ? [args.pop()] : [];
  const [first, , backlog] = args;
  if (typeof first === 'object' && first !== null) {
    // Unix sockets and inherited descriptors have no host to correct.
    const onTcp = 'port' in first && !('path' in first);
    return listen.call(this, onTcp ? { ...first, host: LOOPBACK } : first, ...callback);
  }
  if (typeof first === 'string' && !/^\d+$/.test(first)) {
    return listen.call(this, ...args, ...callback);
  }
  const options = { port: Number(first ?? 0), host: LOOPBACK };
  if (typeof backlog === 'number') options.backlog = backlog;
  return listen.call(this, options, ...callback);
};
