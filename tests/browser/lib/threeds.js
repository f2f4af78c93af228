// Purchases and challenges of 3-D Secure, as a shop's server begins them.
import assert from 'node:assert/strict';

export const PURCHASE = {
  authentication_category: 'payment',
  authentication_type: 'payment-transaction',
  purchase_info: {
    amount: '80000', currency: '826', exponent: '2', date: '20240109141010', transaction_type: 'purchase',
  },
  merchant_info: {
    mid: '9876543210001', acquirer_bin: '000000999', name: 'Example', country_code: '826', category_code: '7922',
  },
  requestor_info: { id: 'example', name: 'Example', url: 'https://www.example.com' },
  cardholder_info: { name: 'John Doe', email: 'john@me.com' },
};

/** Test cards whose challenge is a code, and an approval in an app. */
export const CODE_CARD = '4200000000000004';
export const APP_CARD = '4200000000000016';

/** The id of a token of the card number. */
export const cardToken = async (h, number) => {
  const body = { type: 'card_number', data: number, deduplicate_token: false };
  return (await h.api('POST', '/tokens', body)).body.id;
};

/** The answer to the authentication of a session, which must be a challenge. */
export const authenticate = async (h, session, purchase = PURCHASE) => {
  const { status, body } = await h.api('POST', `/3ds/sessions/${session}/authenticate`, purchase);
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.authentication_status, 'challenge');
  return body;
};

/** Begins a challenge without a browser: its session, and the message that a browser posts to the ACS. */
export const beginChallenge = async (h, number, purchase) => {
  const device = { browser_language: 'en', browser_tz: '-60' };
  const made = { token_id: await cardToken(h, number), device: 'browser', device_info: device };
  const { body: session } = await h.api('POST', '/3ds/sessions', made, 'public');
  const found = await authenticate(h, session.id, purchase);
  const creq = {
    messageType: 'CReq',
    messageVersion: found.threeds_version,
    threeDSServerTransID: session.id,
    acsTransID: found.acs_transaction_id,
    challengeWindowSize: '05',
  };
  return { session: session.id, creq: Buffer.from(JSON.stringify(creq)).toString('base64url') };
};
