// Pending approvals and the connection to the daemon, kept up to date. Of several tabs, one
// follows the stream and informs the others, so that a browser's few connections are enough.
import { store } from './store.js';
import { get, signedIn, Problem } from './api.js';

/** The pending approvals: {items, loaded, error}. Oldest first. */
export const approvals = store({ items: [], loaded: false, error: null });
/** The state of the connection: 'connecting', 'live', 'polling', 'lost'. */
export const connection = store('connecting');

let channel = null;
let source = null;
let timer = 0;
let wait = 500;
let leads = false;
let stopped = true;
let turn = 0; // grows with every update, so that an older response does not undo it

const tell = (message) => channel?.postMessage(message);

function setItems(items) {
  turn++;
  approvals.set({ items, loaded: true, error: null });
}

function state(s) {
  connection.set(s);
  if (leads) tell({ state: s });
}

/** refresh loads the pending approvals at once; updates that arrive meanwhile take precedence. */
export async function refresh() {
  const mine = turn;
  try {
    const items = [];
    let cursor = '';
    do {
      const page = await get('/v1/approvals', { state: 'pending', limit: 500, cursor });
      items.push(...page.items);
      cursor = page.next_cursor || '';
    } while (cursor && items.length < 5000);
    if (mine === turn) {
      setItems(items);
      if (leads) tell({ items });
    }
    return true;
  } catch (error) {
    if (error instanceof Problem && error.status === 401) return false;
    approvals.set((q) => ({ ...q, error: q.loaded ? null : error, loaded: q.loaded }));
    return false;
  }
}

function without(id) {
  turn++;
  approvals.set((q) => ({ ...q, items: q.items.filter((i) => i.id !== id) }));
}

/**
 * removeAnswered removes an approval from the list that was just answered here. The other tabs get
 * that fact, not the list, because they may know of newer approvals than this tab.
 */
export function removeAnswered(id) {
  without(id);
  tell({ answered: id });
}

function follow() {
  clearTimeout(timer);
  source?.close();
  if (stopped) return;
  const es = new EventSource('/v1/approvals');
  source = es;
  es.addEventListener('approvals', (e) => {
    wait = 500;
    state('live');
    const items = JSON.parse(e.data).items || [];
    setItems(items);
    tell({ items });
  });
  for (const end of ['shutdown', 'failed']) es.addEventListener(end, () => { es.close(); again(); });
  es.onerror = () => {
    if (es.readyState === EventSource.CLOSED) again();
    else state('lost');
  };
}

// again reconnects after a delay. A daemon without a stream is polled.
function again() {
  if (stopped) return;
  state('lost');
  timer = setTimeout(async () => {
    wait = Math.min(wait * 1.7, 5000);
    if (!(await refresh())) {
      if (signedIn.get() !== false) again();
      return;
    }
    const r = await fetch('/v1/approvals', { headers: { Accept: 'text/event-stream' }, credentials: 'same-origin' }).catch(() => null);
    const streams = r?.ok && /event-stream/.test(r.headers.get('Content-Type') || '');
    r?.body?.cancel().catch(() => {});
    if (streams) follow();
    else poll();
  }, wait);
}

function poll() {
  clearTimeout(timer);
  if (stopped) return;
  timer = setTimeout(async () => {
    if (await refresh()) {
      state('polling');
      poll();
    } else if (signedIn.get() !== false) again();
  }, 2000);
}

function lead() {
  leads = true;
  follow();
}

/** begin follows the pending approvals until end. */
export function begin() {
  if (!stopped) return;
  stopped = false;
  if (globalThis.BroadcastChannel && navigator.locks) {
    channel = new BroadcastChannel('holdfast');
    channel.onmessage = ({ data }) => {
      if (data.items) setItems(data.items);
      if (data.answered) without(data.answered);
      if (data.state) connection.set(data.state);
      if (data.hello && leads && approvals.get().loaded) tell({ items: approvals.get().items, state: connection.get() });
      if (data.bye) signedIn.set(false);
    };
    navigator.locks.request('holdfast-approvals', () => new Promise((release) => {
      if (stopped) return release();
      letGo = release;
      lead();
    }));
    tell({ hello: true });
    refresh();
  } else lead();
}

let letGo = () => {};

/** end stops following. With everywhere the other tabs are logged out, too. */
export function end(everywhere) {
  if (everywhere) tell({ bye: true });
  stopped = true;
  leads = false;
  clearTimeout(timer);
  source?.close();
  channel?.close();
  channel = null;
  letGo();
  approvals.set({ items: [], loaded: false, error: null });
  connection.set('connecting');
}

/** start refreshes the list when the tab becomes visible again. */
export function start() {
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden && !stopped) refresh();
  });
}
