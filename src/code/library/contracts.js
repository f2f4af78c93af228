// The argument of a program under each contract.
'use strict';

const ports = require('ports');

// Under `node-bt`: the request, with `bt` and the key of the call.
exports.bt = (given) => {
  const argument = typeof given === 'object' && given !== null ? given : { args: given };
  if (argument.configuration === undefined || argument.configuration === null) {
    argument.configuration = {};
  }
  withHeaders(argument.args);
  define(argument, 'bt', ports.key === null ? null : client());
  define(argument, 'applicationOptions', options({
    apiKey: ports.key, environment: ports.baseUrl, baseUrl: ports.baseUrl,
  }));
  return argument;
};

// Under `node22` and `node24`: the event, with a logger.
exports.node = (given) => {
  const event = typeof given === 'object' && given !== null ? given : { req: given };
  if (event.configuration === undefined || event.configuration === null) {
    event.configuration = {};
  }
  withHeaders(event.req);
  withHeaders(event.res);
  define(event, 'logger', require('console.js').logger);
  define(event, 'applicationOptions', options({ apiKey: ports.key, baseUrl: ports.baseUrl }));
  return event;
};

const define = (object, name, value) => Object.defineProperty(object, name, {
  value, writable: true, enumerable: true, configurable: true,
});

const client = () => require('basis_theory_js.js').clientOf(ports.key, ports.baseUrl);

// A program that returns its whole argument does not answer its key.
const options = (members) => {
  if (members.apiKey === null) { delete members.apiKey; }
  const { apiKey, ...shown } = members;
  Object.defineProperty(members, 'toJSON', { value: () => shown });
  return members;
};

const withHeaders = (side) => {
  if (typeof side === 'object' && side !== null
    && typeof side.headers === 'object' && side.headers !== null && !Array.isArray(side.headers)) {
    side.headers = require('headers.js').caseless(side.headers);
  }
};
