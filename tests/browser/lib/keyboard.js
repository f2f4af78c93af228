// Using a page with the keyboard alone.
import assert from 'node:assert/strict';
import { until } from './wait.js';

/** The time for a ring to be drawn. */
const RING_MS = 10_000;

/** The element that has the focus, also inside frames and shadow roots; null for none. */
const focused = async (frame) => {
  const handle = await frame.evaluateHandle(() => {
    let found = document.activeElement;
    while (found?.shadowRoot?.activeElement) found = found.shadowRoot.activeElement;
    return found === document.body ? null : found;
  });
  const element = handle.asElement();
  if (element === null) return null;
  const inner = await element.contentFrame();
  return inner === null ? { element, frame } : ((await focused(inner)) ?? { element, frame });
};

/** Name and role of the focused element as assistive software has them, and whether focus shows. */
export const focus = async (page) => {
  const found = await focused(page.mainFrame());
  if (found === null) return null;
  const { element, frame } = found;
  const named = { objectId: element.id, fetchRelatives: false };
  const { nodes: [node] } = await element.client.send('Accessibility.getPartialAXTree', named);
  const shown = await element.evaluate((it) => {
    const box = it.getBoundingClientRect();
    return box.width > 1 && box.height > 1;
  });
  const framed = frame !== page.mainFrame();
  const ring = (await hasRing(element)) || (framed && (await hasRingAround(await frame.frameElement())));
  return { name: node?.name?.value ?? '', role: node?.role?.value ?? '', framed, shown, ring };
};

const hasRing = (element) => element.evaluate((it) => {
  const { outlineStyle, outlineWidth } = getComputedStyle(it);
  return outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2;
});

/** A page may draw the ring around a whole field instead of inside its frame. */
const hasRingAround = async (frameElement) => hasRing(await frameElement.evaluateHandle((it) => it.parentElement));

/** The place that Tab has reached. A page draws the ring around a frame when the frame has said that it has the focus. */
const reached = async (page) => {
  const first = await focus(page);
  if (first === null || first.ring || !first.framed) return first;
  const ringed = async () => [await focus(page)].find((found) => found?.ring);
  return until('the ring around a frame', ringed, RING_MS).catch(() => first);
};

const mark = (found) => found.element.evaluate((it) => {
  const isKnown = it.dataset.tabStop !== undefined;
  it.dataset.tabStop = 'known';
  return isKnown;
});

/**
 * Every place that Tab reaches after the one that has the focus, up to the end of the page, each as
 * `focus` has it. On a page that was just opened these are all places.
 */
export const tabStops = async (page, max = 200, first = Infinity) => {
  const stops = [];
  for (let pressed = 0; pressed <= max; pressed += 1) {
    await page.keyboard.press('Tab');
    const found = await focused(page.mainFrame());
    if (found === null || stops.length >= first || (await mark(found))) {
      await clearMarks(page);
      return stops;
    }
    stops.push(await reached(page));
  }
  throw new Error(`Tab reached more than ${max} places.`);
};

const clearMarks = async (page) => {
  for (const frame of page.frames()) {
    await frame.evaluate(() => {
      for (const it of document.querySelectorAll('[data-tab-stop]')) delete it.dataset.tabStop;
    });
  }
};

/** The names of the places that Tab reaches, in order. */
export const tabOrder = async (page, max) => (await tabStops(page, max)).map((stop) => stop.name);

/** Presses Tab until the element with this name has the focus. */
export const tabTo = async (page, name, max = 200) => {
  for (let pressed = 0; pressed < max; pressed += 1) {
    await page.keyboard.press('Tab');
    const found = await focus(page);
    if (found !== null && (name instanceof RegExp ? name.test(found.name) : found.name === name)) return found;
  }
  throw new Error(`Tab does not reach ${name}.`);
};

/** Waits until the element with this name has the focus. */
export const focusReaches = (page, name) =>
  until(`the focus on ${name}`, async () => (await focus(page))?.name === name);

/** Fails unless every place that Tab reaches, or the `first` of them, has a name and a visible focus. */
export const checkTabStops = async (page, { first } = {}) => {
  const stops = await tabStops(page, 200, first);
  for (const stop of stops) {
    assert.notEqual(stop.name, '', `${page.url()} has a place without a name: ${JSON.stringify(stop)}`);
    assert.ok(stop.shown && stop.ring, `${page.url()} hides its focus: ${JSON.stringify(stop)}`);
  }
  return stops;
};
