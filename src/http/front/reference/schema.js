// Reading of JSON Schema (the dialect of OpenAPI 3.1): references, types in words, members and limits.

/** A chain of references that is longer is a circle. */
const REFERENCES_MAX = 20;

/** The schema that a reference names, and the name under which the document has it. */
export function resolve(root, schema) {
  let found = schema ?? {};
  let name = null;
  for (let step = 0; step < REFERENCES_MAX && typeof found?.$ref === 'string'; step += 1) {
    const { $ref: reference, ...beside } = found;
    name = reference.split('/').at(-1);
    // A description beside a reference says more about this use than that of the schema.
    found = { ...target(root, reference), ...beside };
  }
  if (typeof found?.$ref === 'string') return { schema: {}, name: null };
  return { schema: typeof found === 'object' && found !== null ? found : {}, name };
}

/** The value that a local reference such as `#/components/schemas/Token` names. */
export function target(root, reference) {
  if (!reference.startsWith('#/')) return {};
  let found = root;
  for (const part of reference.slice(2).split('/')) {
    const name = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
    found = found && Object.hasOwn(found, name) ? found[name] : undefined;
  }
  return found ?? {};
}

/** The members of an object, those of all parts of an `allOf` among them. */
export function members(root, schema) {
  const found = new Map();
  const required = new Set();
  collectMembers(root, schema, found, required, 0);
  return [...found].map(([name, member]) => ({ name, schema: member, isRequired: required.has(name) }));
}

/** A part of an `allOf` may require a member that another part describes. */
function collectMembers(root, schema, found, required, depth) {
  const { schema: own } = resolve(root, schema);
  if (depth < REFERENCES_MAX) {
    for (const part of own.allOf ?? []) collectMembers(root, part, found, required, depth + 1);
  }
  for (const [name, member] of Object.entries(own.properties ?? {})) found.set(name, member);
  for (const name of own.required ?? []) required.add(name);
}

/**
 * The alternatives of a schema, without one that only says `null` and without those that only require
 * members. An alternative that has alternatives itself stands for these.
 */
export function variants(root, schema, depth = 0) {
  const { schema: own } = resolve(root, schema);
  const all = (own.oneOf ?? own.anyOf ?? []).filter((it) => resolve(root, it).schema.type !== 'null' && !isChoice(it));
  return all.flatMap((it) => {
    const inner = depth < REFERENCES_MAX ? variants(root, it, depth + 1) : [];
    return inner.length > 0 ? inner : [it];
  });
}

const isChoice = (schema) => Object.keys(schema).length === 1 && Array.isArray(schema.required);

/** Sets of members of which a value must have at least one. */
export function choices(root, schema) {
  const { schema: own } = resolve(root, schema);
  return (own.oneOf ?? own.anyOf ?? []).filter(isChoice).map((it) => it.required);
}

/** The schema of the entries of a list or of a map, or `null`. */
export function entries(root, schema) {
  const { schema: own } = resolve(root, schema);
  if (typeof own.items === 'object') return { label: 'each entry', schema: own.items };
  if (typeof own.additionalProperties === 'object' && Object.keys(own.additionalProperties).length > 0) {
    return { label: 'each value', schema: own.additionalProperties };
  }
  return null;
}

/** The type in words: `string (uuid) or null`, `list of string`. */
export function typeText(root, schema, depth = 0) {
  const { schema: own, name } = resolve(root, schema);
  if (depth > 3) return name ?? 'any';
  if (own.const !== undefined) return JSON.stringify(own.const);
  const alternatives = own.oneOf ?? own.anyOf;
  if (alternatives && own.type === undefined) {
    const texts = alternatives.flatMap((it) => typeText(root, it, depth + 1).split(' or '));
    return [...new Set(texts)].join(' or ');
  }
  const types = [own.type ?? []].flat();
  if (types.length === 0) return own.properties || own.allOf ? name ?? 'object' : name ?? 'any';
  return types.map((type) => oneType(root, own, type, name, depth)).join(' or ');
}

function oneType(root, own, type, name, depth) {
  if (type === 'array') return own.items ? `list of ${typeText(root, own.items, depth + 1)}` : 'list';
  if (type === 'object') {
    const map = entries(root, own);
    if (name) return name;
    return map && !own.properties ? `map of ${typeText(root, map.schema, depth + 1)}` : 'object';
  }
  return type === 'string' && own.format ? `string (${own.format})` : type;
}

/** The limits of a value in words. */
export function limitTexts(schema) {
  const found = [];
  const range = (least, most, unit) => {
    if (least !== undefined && most !== undefined) found.push(least === most ? `exactly ${least} ${unit}` : `${least} to ${most} ${unit}`);
    else if (least !== undefined) found.push(`at least ${least} ${unit}`);
    else if (most !== undefined) found.push(`at most ${most} ${unit}`);
  };
  range(schema.minLength, schema.maxLength, 'characters');
  range(schema.minItems, schema.maxItems, 'entries');
  range(schema.minProperties, schema.maxProperties, 'members');
  range(schema.minimum, schema.maximum, '');
  if (schema.exclusiveMinimum !== undefined) found.push(`more than ${schema.exclusiveMinimum}`);
  if (schema.exclusiveMaximum !== undefined) found.push(`less than ${schema.exclusiveMaximum}`);
  if (schema.uniqueItems) found.push('no entry twice');
  if (schema.pattern) found.push(`pattern ${schema.pattern}`);
  if (schema.default !== undefined) found.push(`default ${JSON.stringify(schema.default)}`);
  return found.map((it) => it.trim());
}

/** Names of all members below a schema, for the search. */
export function memberNames(root, schema, found = new Set(), seen = new Set()) {
  const { schema: own, name } = resolve(root, schema);
  if (name && seen.has(name)) return found;
  if (name) seen.add(name);
  for (const [member, below] of Object.entries(own.properties ?? {})) {
    found.add(member);
    memberNames(root, below, found, seen);
  }
  const parts = [own.items, own.additionalProperties, ...(own.allOf ?? []), ...(own.oneOf ?? []), ...(own.anyOf ?? [])];
  for (const part of parts) if (typeof part === 'object' && part !== null) memberNames(root, part, found, seen);
  return found;
}
