// The rights of a key, as far as the page offers actions by them. The server decides by itself.

const READING = /(:read|:search|:connection_formulas)$/;

/** All permissions that an application holds, directly or by rules. */
export const permissionsOf = (application) => {
  const byRules = (application.rules ?? []).flatMap((rule) => rule.permissions ?? []);
  return new Set([...(application.permissions ?? []), ...byRules]);
};

export const isWriting = (permission) => !READING.test(permission);

export const isReadOnly = (permissions) => ![...permissions].some(isWriting);

/** The permissions out of `needed` that are missing. */
export const missing = (permissions, needed) => needed.filter((it) => !permissions.has(it));

/** "Needs application:create." or nothing. */
export const reasonAgainst = (permissions, needed) => {
  const lacking = missing(permissions, needed);
  return lacking.length === 0 ? undefined : `Needs ${lacking.join(' and ')}.`;
};

/** Permissions by subject: "token:create" belongs to "token", "3ds:session:read" to "3ds:session". */
export const byGroup = (permissions) => {
  const groups = new Map();
  for (const permission of permissions) {
    const name = permission.type.slice(0, permission.type.lastIndexOf(':'));
    groups.set(name, [...(groups.get(name) ?? []), permission]);
  }
  return groups;
};

/** The permissions that a rule can grant: those on tokens in containers. */
export const RULE_PERMISSIONS = [
  'token:create', 'token:read', 'token:search', 'token:update', 'token:delete', 'token:use',
];

/** A list with the item at `from` moved to `to`; the same list if `to` is outside. */
export const moved = (list, from, to) => {
  if (to < 0 || to >= list.length) return list;
  const rest = list.filter((_, at) => at !== from);
  return [...rest.slice(0, to), list[from], ...rest.slice(to)];
};

/** Rules as the API takes them: their order gives the priorities. */
export const numbered = (rules) =>
  rules.map((rule, at) => ({
    ...(rule.description ? { description: rule.description } : {}),
    priority: at + 1,
    container: rule.container,
    transform: rule.transform,
    permissions: rule.permissions,
  }));
