// Waits with a deadline and a name, so that a test that hangs says what did not happen.

/** Generous, since other programs may use the machine. */
export const WAIT_MS = 60_000;

/**
 * The result of a promise, or an error that names the thing that did not happen in time. `left` is
 * shorter than `ms` if a part of the wait is over.
 */
export const within = async (name, promise, ms = WAIT_MS, left = ms) => {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Waited ${ms / 1000} s for ${name}.`)), left);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
};

/** Asks until the answer is truthy, and returns it. */
export const until = async (name, ask, ms = WAIT_MS) => {
  const end = Date.now() + ms;
  for (;;) {
    const found = await within(name, ask(), ms, Math.max(end - Date.now(), 1));
    if (found) return found;
    if (Date.now() >= end) throw new Error(`Waited ${ms / 1000} s for ${name}.`);
    await new Promise((done) => setTimeout(done, 50));
  }
};
