// Says whether a Chromium starts on this machine. The exit code is 1 if none does.
import { launch } from './lib/browser.js';

try {
  const browser = await launch();
  console.log(await browser.version());
  await browser.close();
} catch (error) {
  console.error(`No Chromium starts here, so the pages cannot be tried.\n${error.message}`);
  process.exitCode = 1;
}
