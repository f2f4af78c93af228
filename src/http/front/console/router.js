// The views, chosen by the fragment of the address. A fragment names a view and at most the id of an
// application, a proxy, a reactor or a webhook: no key, no search and no token is ever part of an address.

import { announce, el, fill } from './dom.js';
import { heading, notice, problem } from './parts.js';
import { signedIn } from './session.js';
import { activity } from './views/activity.js';
import { application } from './views/application.js';
import { applicationForm } from './views/application_form.js';
import { applications } from './views/applications.js';
import { limits } from './views/limits.js';
import { logs } from './views/logs.js';
import { overview } from './views/overview.js';
import { proxies } from './views/proxies.js';
import { proxy } from './views/proxy.js';
import { proxyForm } from './views/proxy_form.js';
import { reactor } from './views/reactor.js';
import { reactorForm } from './views/reactor_form.js';
import { reactors } from './views/reactors.js';
import { threeds } from './views/threeds.js';
import { tokens } from './views/tokens.js';
import { webhookForm } from './views/webhook_form.js';
import { webhooks } from './views/webhooks.js';

// Path pattern, title, permissions of which one is needed, render function, and the entry of the menu.
const VIEWS = [
  { path: /^\/?$/, title: 'Overview', needs: [], render: overview, menu: '' },
  { path: /^\/applications$/, title: 'Applications', needs: ['application:read'], render: applications, menu: 'applications' },
  { path: /^\/applications\/new$/, title: 'New application', needs: ['application:create'], render: applicationForm, under: 'applications' },
  { path: /^\/applications\/([0-9a-f-]{36})$/, title: 'Application', needs: ['application:read'], render: application, under: 'applications' },
  { path: /^\/applications\/([0-9a-f-]{36})\/edit$/, title: 'Change application', needs: ['application:update'], render: applicationForm, under: 'applications' },
  { path: /^\/tokens$/, title: 'Tokens', needs: [], render: tokens, menu: 'tokens' },
  { path: /^\/logs$/, title: 'Logs', needs: ['log:read'], render: logs, menu: 'logs' },
  { path: /^\/activity$/, title: 'Activity', needs: ['log:read', 'report:read'], render: activity, menu: 'activity' },
  { path: /^\/limits$/, title: 'Limits', needs: ['tenant:read'], render: limits, menu: 'limits' },
  { path: /^\/3ds$/, title: '3DS sessions', needs: [], render: threeds, menu: '3ds' },
  { path: /^\/proxies$/, title: 'Proxies', needs: ['proxy:read'], render: proxies, menu: 'proxies' },
  { path: /^\/proxies\/new$/, title: 'New proxy', needs: ['proxy:create'], render: proxyForm, under: 'proxies' },
  { path: /^\/proxies\/([0-9a-f-]{36})$/, title: 'Proxy', needs: ['proxy:read'], render: proxy, under: 'proxies' },
  { path: /^\/proxies\/([0-9a-f-]{36})\/edit$/, title: 'Change proxy', needs: ['proxy:update'], render: proxyForm, under: 'proxies' },
  { path: /^\/reactors$/, title: 'Reactors', needs: ['reactor:read'], render: reactors, menu: 'reactors' },
  { path: /^\/reactors\/new$/, title: 'New reactor', needs: ['reactor:create'], render: reactorForm, under: 'reactors' },
  { path: /^\/reactors\/([0-9a-f-]{36})$/, title: 'Reactor', needs: ['reactor:read'], render: reactor, under: 'reactors' },
  { path: /^\/reactors\/([0-9a-f-]{36})\/edit$/, title: 'Change reactor', needs: ['reactor:update'], render: reactorForm, under: 'reactors' },
  { path: /^\/webhooks$/, title: 'Webhooks', needs: ['webhooks:read'], render: webhooks, menu: 'webhooks' },
  { path: /^\/webhooks\/new$/, title: 'New webhook', needs: ['webhooks:create'], render: webhookForm, under: 'webhooks' },
  { path: /^\/webhooks\/([0-9a-f-]{36})\/edit$/, title: 'Change webhook', needs: ['webhooks:update'], render: webhookForm, under: 'webhooks' },
];

let main;
let menu;
let menuButton;
let running = new AbortController();

export const mountRouter = (place, navigation, button) => {
  main = place;
  menu = navigation;
  menuButton = button;
  window.addEventListener('hashchange', show);
  button.addEventListener('click', () => setMenu(!menu.classList.contains('open')));
};

const setMenu = (isOpen) => {
  menu.classList.toggle('open', isOpen);
  menuButton.setAttribute('aria-expanded', String(isOpen));
};

/** Ends the view that is shown; its calls are abandoned. */
export const forgetRoute = () => {
  running.abort();
  setMenu(false);
};

export const go = (path) => {
  if (window.location.hash === `#${path}`) {
    show();
  } else {
    window.location.hash = path;
  }
};

/** Shows the view that the address names. */
export const show = async () => {
  if (!signedIn()) return;
  forgetRoute();
  running = new AbortController();
  const { signal } = running;
  const path = window.location.hash.slice(1);
  const view = VIEWS.find((it) => it.path.test(path)) ?? VIEWS[0];
  const parameters = view.path.exec(path)?.slice(1) ?? [];
  drawMenu(view.menu ?? view.under);
  document.title = `${view.title} - Strongroom console`;
  const place = el('div', { class: 'view' });
  fill(main, place);
  try {
    if (lacks(view.needs)) {
      fill(place, heading(view.title), notice('warn', el('p', {}, `This view needs the permission ${view.needs.join(' or ')}, which ${signedIn().person ? 'your role' : 'this key'} does not hold.`)));
    } else {
      await view.render({ place, signal, id: parameters[0], go, again: show, title: view.title });
    }
  } catch (failure) {
    if (failure.name === 'AbortError' || signal.aborted) return;
    fill(place, heading(view.title), problem(failure));
  }
  if (!signal.aborted) {
    window.scrollTo(0, 0);
    place.querySelector('h1')?.focus({ preventScroll: true });
    announce(view.title);
  }
};

const lacks = (needs) => needs.length > 0 && !needs.some((it) => signedIn().permissions.has(it));

const drawMenu = (current) => {
  const item = ({ menu: name, title, needs }) => el('li', {}, el('a', {
    href: `#/${name}`,
    'aria-current': name === current ? 'page' : undefined,
    class: lacks(needs) ? 'lacking' : undefined,
  }, title, lacks(needs) && el('span', { class: 'unseen' }, ' (not allowed)')));
  fill(menu, el('ul', {}, VIEWS.filter((view) => view.menu !== undefined).map(item)));
};
