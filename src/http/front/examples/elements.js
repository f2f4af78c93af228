// Every element of the published packages, as a page with a script tag uses them. The packages from npm
// have the same calls.

const key = new URLSearchParams(location.hash.slice(1)).get('key') ?? '';
const show = (id, text) => { document.getElementById(id).textContent = text; };

const attempt = async (request) => {
  show('problem', '');
  try {
    show('answer', JSON.stringify(await request(), null, 2));
  } catch (error) {
    show('problem', `${error.name}: ${error.message}`);
  }
};

/** The programs of the chapter about Elements, with the key of this page and the address of this vault. */
const showSources = async () => {
  const { react, html } = await (await fetch('/examples/sources.json')).json();
  const withKey = (text) => (key === '' ? text : text.replace('key_prod_self_pub_...', key));
  show('source-react', withKey(react));
  show('source-html', withKey(html).replace('https://pay.shop.example', location.origin));
};

const start = async () => {
  const bt = await window.basistheory(key);
  const card = bt.createElement('card', { targetId: 'card' });
  const number = bt.createElement('cardNumber', { targetId: 'number', iconPosition: 'right' });
  const expiry = bt.createElement('cardExpirationDate', { targetId: 'expiry' });
  const cvc = bt.createElement('cardVerificationCode', { targetId: 'cvc' });
  const name = bt.createElement('text', { targetId: 'name', 'aria-label': 'Name', placeholder: 'Name on the card', autoComplete: 'name' });
  const digit = /\d/;
  const ssn = bt.createElement('text', {
    targetId: 'ssn', 'aria-label': 'Social security number', placeholder: '123-45-6789', inputMode: 'numeric',
    mask: [digit, digit, digit, '-', digit, digit, '-', digit, digit, digit, digit],
  });
  // The length of the code depends on the brand.
  number.on('change', ({ cardBrand }) => cvc.update({ cardBrand: cardBrand === 'unknown' ? undefined : cardBrand }));
  const places = { card, number, expiry, cvc, name, ssn };
  await Promise.all(Object.entries(places).map(([id, element]) => element.mount(`#${id}`)));

  document.getElementById('send-card').addEventListener('click', () => attempt(() => bt.tokenIntents.create({ type: 'card', data: card })));
  document.getElementById('send-parts').addEventListener('click', () => attempt(() => bt.tokenize({
    card: { type: 'card', data: { number, expiration_month: expiry.month(), expiration_year: expiry.year(), cvc } },
    name,
    ssn,
  })));
};

document.getElementById('gallery').hash = location.hash;
showSources().catch((error) => show('problem', error.message));
start().catch((error) => show('problem', `${error.name}: ${error.message} Open the link that strongroom dev prints: it has the public key.`));
