// A shop's checkout page: mounts the card fields, gets a token intent for the card, and runs 3-D
// Secure with the published browser SDK.

import { ShopServer } from './server.js';

const byId = (id) => document.getElementById(id);
const status = (text) => { byId('status').textContent = text; };

let fields = null;
let publicKey = new URLSearchParams(location.hash.slice(1)).get('key') ?? '';

/** Adds a step to the list of calls. */
const show = ({ who, call, body, status: code, answer }) => {
  const item = document.createElement('li');
  const line = document.createElement('p');
  const text = document.createElement('code');
  text.textContent = call;
  line.append(text, ` by the ${who}${code ? `: ${code}` : ''}`);
  item.append(line);
  for (const part of [body, answer]) {
    if (part === undefined || part === null) continue;
    const pre = document.createElement('pre');
    pre.tabIndex = 0;
    pre.textContent = JSON.stringify(part, null, 2);
    item.append(pre);
  }
  byId('calls').append(item);
};

const lookOfPage = () => {
  const style = getComputedStyle(document.documentElement);
  const value = (name) => style.getPropertyValue(name).trim();
  return {
    base: { color: value('--ink'), fontSize: '16px' },
    invalid: { color: value('--bad') },
    placeholder: { color: value('--quiet-ink') },
  };
};

const mount = (kind) => {
  fields?.destroy();
  byId('pay').disabled = true;
  byId('separate').hidden = kind !== 'separate';
  byId('combined').hidden = kind !== 'combined';
  fields = window.Strongroom.fields({ key: publicKey, locale: 'en', style: lookOfPage() });
  fields.on('ready', () => { byId('pay').disabled = false; });
  fields.on('error', ({ error }) => status(error.message));
  if (kind === 'combined') fields.card('#card');
  else fields.number('#number').expiry('#expiry').cvc('#cvc');
};

/** Shows the challenge of the issuer, in a frame that the SDK opens, and waits for its end. */
const challenge = async (sdk, session, answer) => {
  status('The bank of the card asks for a confirmation.');
  const place = byId('challenge');
  const whenShown = new ResizeObserver(() => {
    if (place.offsetHeight > 0) place.scrollIntoView({ block: 'nearest' });
  });
  whenShown.observe(place);
  const outcome = await sdk.startChallenge({
    sessionId: session,
    acsTransactionId: answer.acs_transaction_id,
    acsChallengeUrl: answer.acs_challenge_url,
    threeDSVersion: answer.threeds_version,
    windowSize: '02',
    containerId: 'challenge',
  });
  whenShown.disconnect();
  place.replaceChildren();
  show({ who: 'browser', call: 'startChallenge', answer: outcome });
};

const secure = async (intent) => {
  const settings = { apiBaseUrl: location.origin, sdkBaseUrl: location.origin, disableTelemetry: true };
  const sdk = window.BasisTheory3ds(publicKey, settings);
  const session = await sdk.createSession({ tokenIntentId: intent.id });
  show({ who: 'browser', call: 'createSession', answer: session });
  const key = byId('private-key').value.trim();
  if (key === '') {
    status('Paid up to the shop’s server: paste its private key to continue with the authentication.');
    return;
  }
  const server = new ShopServer(key, show);
  const answer = await server.authenticate(session.id);
  const isChallenged = answer.authentication_status === 'challenge';
  if (isChallenged) await challenge(sdk, session.id, answer);
  const result = isChallenged ? await server.result(session.id) : answer;
  const token = await server.convert(intent.id);
  status(`3-D Secure: ${result.authentication_status}. The shop’s server keeps the card as ${token.id}.`);
};

const pay = async () => {
  byId('pay').disabled = true;
  status('Sending the card to the vault.');
  try {
    const intent = await fields.createTokenIntent();
    show({ who: 'card fields', call: 'POST /token-intents', answer: intent });
    if (typeof window.BasisTheory3ds === 'function') await secure(intent);
    else status(`The card is the token intent ${intent.id}. 3-D Secure was left out.`);
    fields.clear();
  } catch (error) {
    status(error.message);
  } finally {
    byId('pay').disabled = false;
  }
};

const begin = () => {
  byId('need-key').hidden = publicKey !== '';
  byId('card-form').hidden = publicKey === '';
  byId('sdk-missing').hidden = typeof window.BasisTheory3ds === 'function';
  if (publicKey !== '') mount(document.querySelector('input[name=kind]:checked').value);
};

byId('use-key').addEventListener('click', () => {
  publicKey = byId('public-key').value.trim();
  begin();
});
byId('pay').addEventListener('click', pay);
for (const choice of document.querySelectorAll('input[name=kind]')) {
  choice.addEventListener('change', () => mount(choice.value));
}
begin();
