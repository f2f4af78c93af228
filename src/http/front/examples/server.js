// The calls that a shop's server makes. In this example the page makes them, with a private key that
// the developer pastes, so that every step can be seen in one place. A real shop keeps them on its
// server: whoever has a private key can read the cards.

/** The time in the form of 3-D Secure: digits from the year to the second. */
const stamp = (now) => now.toISOString().replace(/[^0-9]/g, '').slice(0, 14);

const PURCHASE = {
  authentication_category: 'payment',
  authentication_type: 'payment-transaction',
  purchase_info: { amount: '4200', currency: '978', exponent: '2', transaction_type: 'purchase' },
  merchant_info: {
    mid: '9876543210001', acquirer_bin: '000000999', name: 'Lantern Shop', country_code: '276', category_code: '5712',
  },
  requestor_info: { id: 'lantern-shop', name: 'Lantern Shop', url: 'https://shop.example' },
  cardholder_info: { name: 'Jo Example', email: 'jo@shop.example' },
};

export class ShopServer {
  #key;
  #show;

  /** `show` is called with each call and its answer. */
  constructor(key, show) {
    this.#key = key;
    this.#show = show;
  }

  async #call(method, path, body) {
    const headers = { 'BT-API-KEY': this.#key, 'Content-Type': 'application/json' };
    const response = await fetch(path, { method, headers, body: body && JSON.stringify(body), credentials: 'omit' });
    const answer = await response.json().catch(() => null);
    // The server may read the card. The page plays the server, but does not show it.
    const shown = answer?.data === undefined ? answer : { ...answer, data: '(for the server alone)' };
    this.#show({ who: 'shop’s server', call: `${method} ${path}`, body, status: response.status, answer: shown });
    if (!response.ok) throw new Error(answer?.detail ?? `The vault answered ${response.status}.`);
    return answer;
  }

  /** Keeps the card of an intent, which would end by itself after a day. */
  convert(intent) {
    return this.#call('POST', '/tokens', { token_intent_id: intent });
  }

  authenticate(session) {
    const purchase = { ...PURCHASE.purchase_info, date: stamp(new Date()) };
    const body = { ...PURCHASE, purchase_info: purchase };
    return this.#call('POST', `/3ds/sessions/${encodeURIComponent(session)}/authenticate`, body);
  }

  result(session) {
    return this.#call('GET', `/3ds/sessions/${encodeURIComponent(session)}/challenge-result`);
  }
}
