// An app with the published package for phones, with the vault in place of the vendor.
import assert from 'node:assert/strict';
import { CARD } from '../lib/elements.js';
import { publicKey } from '../lib/fields.js';
import { runPhone } from '../lib/phone.js';

export const name = 'phone';

/** The app of a shop: three fields and a text, into which a person types. */
const app = (key, url) => `
import React, { useRef } from 'react';
import { act, create } from 'react-test-renderer';
import { BasisTheoryProvider, CardExpirationDateElement, CardNumberElement, CardVerificationCodeElement, TextElement, useBasisTheory } from '@basis-theory/react-native-elements';
globalThis.IS_REACT_ACT_ENVIRONMENT = true;
const refs = {};
let bt = null;
let changes = [];
const Form = () => {
  for (const name of ['number', 'expiry', 'cvc', 'text']) refs[name] = useRef(null);
  return <>
    <CardNumberElement btRef={refs.number} placeholder="number" binLookup onChange={(event) => changes.push(event)} />
    <CardExpirationDateElement btRef={refs.expiry} placeholder="expiry" />
    <CardVerificationCodeElement btRef={refs.cvc} placeholder="cvc" />
    <TextElement btRef={refs.text} placeholder="text" />
  </>;
};
const App = () => {
  const found = useBasisTheory(${JSON.stringify(key)}, { apiBaseUrl: ${JSON.stringify(url)} });
  bt = found.bt ?? null;
  if (found.error) throw found.error;
  return <BasisTheoryProvider bt={found.bt}>{found.bt ? <Form /> : null}</BasisTheoryProvider>;
};
const wait = async (isThere) => {
  for (let at = 0; at < 200 && !isThere(); at += 1) await act(() => new Promise((done) => { setTimeout(done, 50); }));
  if (!isThere()) throw new Error('The app is not ready: ' + isThere);
};
(async () => {
  let shown;
  await act(async () => { shown = create(<App />); });
  await wait(() => bt !== null);
  const type = (placeholder, text) => act(async () => {
    shown.root.find((it) => it.type === 'TextInput' && it.props.placeholder === placeholder).props.onChangeText(text);
  });
  // The package tells of a mistake in the console of the app, and gives nothing.
  const early = await bt.tokens.create({ type: 'card_number', data: refs.number.current }).then((it) => it ?? null);
  await type('number', '${CARD.number}');
  await type('expiry', '11/31');
  await type('cvc', '${CARD.cvc}');
  await type('text', 'Ada Lovelace');
  await wait(() => changes.at(-1)?.binInfo);
  const card = { number: refs.number.current, expiration_month: refs.expiry.current.month(), expiration_year: refs.expiry.current.year(), cvc: refs.cvc.current };
  const token = await bt.tokens.create({ type: 'card', data: card });
  const intent = await bt.tokenIntents.create({ type: 'card', data: card });
  const text = await bt.tokens.create({ type: 'token', data: { name: refs.text.current } });
  const session = await bt.sessions.create();
  const { cardLast4, binInfo } = changes.at(-1);
  console.log(JSON.stringify({ early, token, intent, text, session: Object.keys(session), cardLast4, bin: binInfo }));
  process.exit(0);
})().catch((error) => { console.error(error); process.exit(1); });
`;

const checkApp = async (h) => {
  const { key } = await publicKey(h.api, [], ['token:create', 'token-intent:create']);
  const found = await runPhone(h.vault, app(key, h.vault.url));
  assert.equal(found.early, null, 'an empty field is not sent');
  const { data } = (await h.api('GET', `/tokens/${found.token.id}`)).body;
  // The package sends the date as texts.
  assert.deepEqual([data.number, Number(data.expiration_month), Number(data.expiration_year)], [CARD.number, 11, 2031]);
  assert.deepEqual((await h.api('GET', `/tokens/${found.text.id}`)).body.data, { name: 'Ada Lovelace' });
  assert.deepEqual([found.token.card.last4, found.intent.type, found.intent.card.brand], ['4242', 'card', 'visa']);
  assert.ok(found.session.includes('sessionKey') && found.session.includes('nonce'), String(found.session));
  assert.deepEqual([found.cardLast4, found.bin.brand], ['4242', 'Visa']);
};

export const run = async (h) => {
  await h.step('an app in React Native', () => checkApp(h));
};
