// The text of pages that are no part of the document, for the search: the start page and the operator's guide.

/** The headings below an element, each with its id and the text up to the next one. */
export function pageSections(root) {
  const found = [];
  for (const element of root.querySelectorAll('h1, h2, h3, p, pre, li, dd, dt, .card')) {
    const text = element.textContent.replace(/\s+/g, ' ').trim();
    if (/^H[1-3]$/.test(element.tagName)) found.push({ title: text, id: element.id, text: '' });
    else if (found.length > 0) found.at(-1).text += `${text} `;
  }
  return found;
}

/** The sections of the operator's guide. A server without the page has none. */
export async function guideSections() {
  try {
    const answer = await fetch('/guide', { credentials: 'omit' });
    if (!answer.ok) return [];
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    return pageSections(page.querySelector('main'));
  } catch {
    return [];
  }
}
