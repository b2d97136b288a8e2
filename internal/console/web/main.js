// The page: the current screen, the login, and the frame around every screen.
import { html, render, cls, useEffect, useRef, useState } from './dom.js';
import { useStore } from './store.js';
import * as routes from './route.js';
import { info, signedIn, whoAmI, post, may, storeToken, onTokenChange } from './api.js';
import * as live from './live.js';
import { theme, setTheme } from './theme.js';
import { Trouble, Waiting, Empty } from './load.js';
import { Dialog, announce, typing } from './parts.js';
import { oneLine } from './text.js';
import { SavedNotice } from './saverule.js';
import { Login } from './login.js';
import { Inbox } from './inbox.js';
import { Sessions } from './sessions.js';
import { Session } from './session.js';
import { Policy } from './policy.js';
import { Audit } from './audit.js';
import { Status } from './status.js';
import { Workspaces, Workspace } from './workspaces.js';

const screens = [
  ['/', 'Inbox'], ['/sessions', 'Sessions'], ['/workspaces', 'Workspaces'], ['/policy', 'Policy'], ['/audit', 'Audit'], ['/status', 'Status'],
];

const links = { connecting: 'Connecting', live: 'Live', polling: 'Live', lost: 'Reconnecting' };

function Nav({ path }) {
  const { items } = useStore(live.approvals);
  const link = useStore(live.connection);
  const who = useStore(info)?.caller;
  const dress = useStore(theme);
  const current = (p) => (p === '/' ? path === '/' : path === p || path.startsWith(p + '/'));
  const leave = async () => {
    await post('/v1/logout').catch(() => {});
    storeToken('');
    live.end(true);
    signedIn.set(false);
  };
  return html`<aside class="side">
    <a class="brand" href="/"><img src="/icon.svg" alt="" width="22" height="22" />Holdfast</a>
    <nav aria-label="Screens"><ul>${screens.map(([p, name]) => html`<li key=${p}><a href=${p} aria-current=${current(p) ? 'page' : undefined}>${name}
      ${p === '/' && items.length > 0 && html`<span class="count num" aria-label=${`${items.length} open`}>${items.length}</span>`}</a></li>`)}</ul></nav>
    <div class="side-foot">
      <p class=${cls('link-state', 'link-' + link)} role="status"><span class="dot" aria-hidden="true"></span>${links[link]}</p>
      ${who && html`<p class="muted who" title=${(who.scopes || []).join(', ')}>${oneLine(who.name)}${!may('approve') ? ', read only' : ''}</p>`}
      <label class="theme"><span class="sr">Colors</span><select value=${dress} onChange=${(e) => setTheme(e.target.value)}>
        <option value="system">System</option><option value="light">Light</option><option value="dark">Dark</option></select></label>
      ${who?.via === 'cookie' && html`<button type="button" class="quiet" onClick=${leave}>Log out</button>`}
    </div></aside>`;
}

const help = [
  ['Anywhere', [['?', 'this help'], ['g i', 'inbox'], ['g s', 'sessions'], ['g p', 'policy'], ['g a', 'audit'], ['/', 'search']]],
  ['Inbox', [['j k', 'next, previous approval'], ['y', 'allow once'], ['a', 'decide for this session, with a scope'], ['p', 'always allow, with a rule in the settings'], ['n', 'deny'], ['m', 'deny with a reason'], ['s', 'deny and stop'], ['Esc', 'close a panel']]],
];

const Help = ({ onClose }) => html`<${Dialog} title="Keyboard" onClose=${onClose}>
  <div class="help">${help.map(([name, keys]) => html`<section><h3>${name}</h3><dl>${keys.map(([k, what]) => html`<div><dt>${k.split(' ').map((x) => html`<kbd>${x}</kbd> `)}</dt><dd>${what}</dd></div>`)}</dl></section>`)}</div>
  <p class="muted">Allow and deny apply to the selected approval, and only after all of it was shown.</p>
  <div class="actions"><button type="button" onClick=${onClose}>Close</button></div></${Dialog}>`;

/** useNews announces new approvals, and shows their number in the title. */
function useNews(name) {
  const { items, loaded } = useStore(live.approvals);
  const known = useRef(null);
  useEffect(() => {
    document.title = (items.length ? `(${items.length}) ` : '') + name + ' · Holdfast';
  }, [items.length, name]);
  useEffect(() => {
    if (!loaded) return;
    const fresh = known.current ? items.filter((q) => !known.current.has(q.id)) : [];
    known.current = new Set([...(known.current || []), ...items.map((q) => q.id)]);
    if (fresh.length) announce(fresh.length === 1 ? `New approval: ${oneLine(fresh[0].tool)} in ${oneLine(fresh[0].title || fresh[0].session_id)}` : `${fresh.length} new approvals`, true);
  }, [items, loaded]);
}

function useKeys(onHelp) {
  useEffect(() => {
    let g = 0;
    const f = (e) => {
      if (typing(e)) return;
      if (e.key === '?') onHelp();
      else if (e.key === 'g') { g = Date.now(); return; }
      else if (e.key === '/') {
        const field = document.querySelector('input[type=search]');
        if (!field) return;
        field.focus();
      } else if (Date.now() - g < 1500) {
        const to = { i: '/', s: '/sessions', p: '/policy', a: '/audit' }[e.key];
        g = 0;
        if (!to) return;
        e.stopImmediatePropagation();
        routes.go(to);
      } else return;
      e.preventDefault();
    };
    addEventListener('keydown', f, true);
    return () => removeEventListener('keydown', f, true);
  }, []);
}

function screenOf(path) {
  const m = /^\/sessions\/([^/]+)$/.exec(path);
  if (m) return ['Session', decodeURIComponent(m[1])];
  const w = /^\/workspaces\/([^/]+)$/.exec(path);
  if (w) return ['Workspace', decodeURIComponent(w[1])];
  if (path === '/inbox') return ['Inbox'];
  const hit = screens.find(([p]) => p === path);
  return hit ? [hit[1]] : ['Page not found'];
}

function Screen({ name, id, onHelp }) {
  switch (name) {
    case 'Inbox': return html`<${Inbox} onHelp=${onHelp} />`;
    case 'Sessions': return html`<${Sessions} />`;
    case 'Session': return html`<${Session} key=${id} id=${id} />`;
    case 'Workspaces': return html`<${Workspaces} />`;
    case 'Workspace': return html`<${Workspace} key=${id} id=${id} />`;
    case 'Policy': return html`<${Policy} />`;
    case 'Audit': return html`<${Audit} />`;
    case 'Status': return html`<${Status} />`;
  }
  return html`<div class="screen"><${Empty} title="Page not found"><p><a href="/">To the inbox</a></p></${Empty}></div>`;
}

function Frame() {
  const { path } = routes.useRoute();
  const [helping, help_] = useState(false);
  const [name, id] = screenOf(path);
  useNews(name);
  useKeys(() => help_(true));
  const was = useRef(path);
  useEffect(() => {
    if (was.current !== path) document.getElementById('main')?.focus({ preventScroll: true });
    was.current = path;
  }, [path]);
  return html`<div class="frame"><${Nav} path=${path} />
    <main id="main" tabindex="-1"><${SavedNotice} /><${Screen} name=${name} id=${id} onHelp=${() => help_(true)} /></main>
    ${helping && html`<${Help} onClose=${() => help_(false)} />`}</div>`;
}

function App() {
  const { path, hash } = routes.useRoute();
  const yes = useStore(signedIn);
  const [error, setError] = useState(null);
  const ask = () => {
    setError(null);
    whoAmI().catch((e) => { if (e.status !== 401) setError(e); });
  };
  const login = path === '/login';
  useEffect(() => { if (!login && yes === null) ask(); }, [login, yes]);
  useEffect(() => onTokenChange(() => { if (signedIn.get() === false) signedIn.set(null); }), []);
  useEffect(() => {
    if (yes) live.begin();
    else if (yes === false) live.end();
  }, [yes]);
  useEffect(() => {
    if (!error) return undefined;
    const t = setTimeout(ask, 2000);
    return () => clearTimeout(t);
  }, [error]);
  if (login || yes === false) return html`<${Login} code=${login ? hash : ''} onIn=${() => { signedIn.set(null); if (login) routes.go('/', { replace: true }); ask(); }} />`;
  if (yes) return html`<${Frame} />`;
  return html`<main id="main" class="alone">${error ? html`<${Trouble} error=${error} again=${ask} />` : html`<${Waiting} what="Connecting" />`}</main>`;
}

routes.start();
live.start();
const root = document.getElementById('app');
root.textContent = '';
render(html`<${App} />`, root);
