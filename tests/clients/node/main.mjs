// The suite of npm's @basis-theory/node-sdk. The modules are imported for the checks in them.

import "./tokens.mjs";
import "./errors.mjs";
import "./repeats.mjs";
import "./bulk.mjs";
import "./lists.mjs";
import "./management.mjs";
import "./outbound.mjs";
import "./reactors.mjs";
import "./sessions.mjs";
import { runChecks } from "./harness.mjs";

await runChecks();
