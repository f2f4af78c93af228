// The rows of a live tail, and the times at which it asks. Nothing here touches the page.

export const ROWS_MAX = 200;
export const POLL_MS = 2000;
const POLL_MS_MAX = 30_000;
/** Entries of reads are written in groups, so that an older one may follow a newer one. */
const OVERLAP_MS = 10_000;

/** Rows with the new entries of an answer before them; both are newest first. */
export const merged = (rows, entries, max = ROWS_MAX) => {
  const known = new Set(rows.map((row) => row.id));
  const fresh = entries.filter((entry) => !known.has(entry.id));
  if (fresh.length === 0) return rows;
  const all = [...fresh, ...rows];
  all.sort((a, b) => (a.created_at < b.created_at ? 1 : a.created_at > b.created_at ? -1 : 0));
  return all.slice(0, max);
};

/**
 * The start of the next question: a little before the newest row. The first question has no start,
 * since the clock of the browser may differ from that of the server.
 */
export const startDate = (rows) =>
  rows.length > 0 ? new Date(Date.parse(rows[0].created_at) - OVERLAP_MS).toISOString() : '';

/** True if entries between the rows and a new page may have been left out. */
export const hasGap = (rows, page) =>
  rows.length > 0 && Boolean(page.pagination.next) && !page.data.some((entry) => rows.some((row) => row.id === entry.id));

/** The wait before the next question; each failure doubles it, and the server's own wait counts. */
export const nextWait = (failures, retryAfter = 0) =>
  Math.max(retryAfter * 1000, Math.min(POLL_MS_MAX, POLL_MS * 2 ** failures));

/** Entries of one actor, or all without one. */
export const ofActor = (entries, actor) => (actor ? entries.filter((entry) => entry.actor_id === actor) : entries);
