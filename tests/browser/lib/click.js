// Clicks that arrive. A click goes to a point of the window: a part of the page that is drawn after the
// element was found can move it from there, and the browser does not say so.
import { until } from './wait.js';

/** Looks for an element and clicks on it, until it got the click. */
export const clickOn = (name, find) =>
  until(`the click on ${name}`, async () => {
    const found = await find();
    let isSent = false;
    try {
      // The list of calls covers the lower edge of the console's window.
      await found.evaluate((it) => {
        it.scrollIntoView({ block: 'center' });
        it.gotClick = false;
        it.addEventListener('click', () => { it.gotClick = true; }, { capture: true, once: true });
      });
      await found.click();
      isSent = true;
      return await found.evaluate((it) => it.gotClick);
    } catch (failure) {
      // The click led to another page.
      if (isSent) return true;
      // The page was drawn again after the element was found.
      if (/not clickable|detached/.test(failure.message)) return false;
      throw failure;
    }
  });

/** Clicks on the first element of a page or a frame that the selector names. */
export const click = (page, selector) => clickOn(selector, () => page.waitForSelector(selector));
