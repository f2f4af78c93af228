// Stands in for the standard library: enough of the contract between it and the worker.
(function boot(host) {
  "use strict";
  globalThis.setTimeout = (then, ms) => { host.wait(ms || 0).then(then); };
  globalThis.fetch = (url, options) => {
    const { method = "GET", headers = {}, body = null } = options || {};
    const bytes = body === null ? null : Uint8Array.from(body, (c) => c.charCodeAt(0));
    return host.fetch({ method, url, headers: Object.entries(headers), body: bytes });
  };
  globalThis.console = {};
  for (const level of ["debug", "info", "warn", "error"]) {
    console[level] = (...parts) => host.log(level, parts.join(" "));
  }
  console.log = console.info;
  const loaded = Object.create(null);
  const require = (name) => {
    if (!(name in loaded)) {
      const text = host.library(name) || host.source(name);
      if (text === null) throw new Error("Cannot find module '" + name + "'");
      loaded[name] = { exports: {} };
      host.compile(name, text)(loaded[name].exports, require, loaded[name], name, "");
    }
    return loaded[name].exports;
  };
  return async function run(call) {
    let program;
    try {
      const module = { exports: {} };
      host.compile("program.js", call.code)(module.exports, require, module, "program.js", "");
      program = module.exports;
      if (typeof program !== "function") throw new TypeError("The code exports no function");
    } catch (error) {
      return JSON.stringify({ kind: "not_a_program", message: String(error && error.message) });
    }
    try {
      const argument = JSON.parse(call.argument);
      argument.key = call.key;
      argument.now = host.now();
      argument.random = () => host.random(16).length;
      const value = await program(argument);
      return '{"kind":"returned","value":' + (JSON.stringify(value) || "null") + "}";
    } catch (error) {
      if (error && error.class) return JSON.stringify({ kind: "threw", class: error.class });
      if (error && error.response) return JSON.stringify({ kind: "threw", response: error.response });
      // The engine throws null if it has no memory for an error.
      const message = error === null ? "out of memory" : String(error && error.message);
      return JSON.stringify({ kind: "threw", message });
    }
  };
})
