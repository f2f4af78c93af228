// The time of the server, from the header Date of its answers. The clock of the browser may be wrong, and that of a
// development server can be moved ahead.

let aheadMs = 0;

/** Learns from the header of an answer. It has whole seconds: the end of the second keeps past times in the past. */
export const learnTime = (date, now = Date.now()) => {
  const at = Date.parse(date ?? '');
  if (!Number.isNaN(at)) aheadMs = at + 999 - now;
};

export const serverNow = (now = Date.now()) => now + aheadMs;
