// The colours that a person sees in a part of a page.

/** Relative luminance by WCAG. */
const luminance = ([red, green, blue]) => {
  const part = (value) => (value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue);
};

/** The colour of the first pixel of a box of the page, and the largest contrast of any pixel to it. */
export const look = async (page, clip) => {
  const picture = await page.screenshot({ clip, encoding: 'base64' });
  const reader = await page.browser().newPage();
  const pixels = await reader.evaluate(async (text) => {
    const image = new Image();
    image.src = `data:image/png;base64,${text}`;
    await image.decode();
    const canvas = document.createElement('canvas');
    Object.assign(canvas, { width: image.width, height: image.height });
    const context = canvas.getContext('2d');
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, image.width, image.height);
    const found = new Set();
    for (let at = 0; at < data.length; at += 4) found.add(data.slice(at, at + 3).join(' '));
    return { ground: data.slice(0, 3).join(' '), colours: [...found] };
  }, picture);
  await reader.close();
  const of = (colour) => luminance(colour.split(' ').map(Number)) + 0.05;
  const ground = of(pixels.ground);
  const contrasts = pixels.colours.map((colour) => Math.max(of(colour) / ground, ground / of(colour)));
  return { ground: pixels.ground, contrast: Math.max(...contrasts) };
};

/** The box of an element. */
export const boxOf = (page, selector) => page.$eval(selector, (it) => {
  const { x, y, width, height } = it.getBoundingClientRect();
  return { x, y, width, height };
});
