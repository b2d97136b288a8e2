// Calls of the daemon's HTTP interface, as docs/reference/http.md describes it.
import { store } from './store.js';

/** The answer of /v1/info: facts about the daemon and the caller. */
export const info = store(null);
/** Whether a user is logged in: null until it is known. */
export const signedIn = store(null);

// The token that proves that a request comes from this page. Only the login's response
// contains it. It is stored for the tabs of this origin; a cookie alone cannot change anything.
const key = 'holdfast-csrf';
let csrfToken = '';
try { csrfToken = localStorage.getItem(key) || ''; } catch { /* without storage, only this page has it */ }

/** storeToken stores the token from the login; '' removes it. */
export function storeToken(token) {
  csrfToken = token;
  try {
    if (token) localStorage.setItem(key, token);
    else localStorage.removeItem(key);
  } catch { /* without storage, only this page has it */ }
}

/** onTokenChange calls f when another tab has logged in. */
export function onTokenChange(f) {
  const heard = (e) => {
    if (e.key !== key || !e.newValue) return;
    csrfToken = e.newValue;
    f();
  };
  addEventListener('storage', heard);
  return () => removeEventListener('storage', heard);
}

/** Problem is an error response. */
export class Problem extends Error {
  constructor(status, doc, after = 0) {
    super(doc.detail || doc.title || `the daemon answered ${status}`);
    this.status = status;
    this.code = doc.code || '';
    this.hint = doc.hint || '';
    this.field = doc.field || '';
    this.doc = doc;
    this.after = after; // seconds until the request may be retried
  }
}

/** Unreachable means that there was no response at all. */
export class Unreachable extends Error {
  constructor() {
    super('the daemon does not answer');
    this.hint = 'holdfast daemon';
    this.status = 0;
  }
}

const withQuery = (path, query) => {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(query || {})) if (v !== '' && v != null && v !== false) q.set(k, v);
  const s = q.toString();
  return s ? path + '?' + s : path;
};

// send sends a request: body as JSON, file unchanged. It fails with Problem or
// Unreachable.
async function send(method, path, { query, body, file, headers, signal } = {}) {
  const h = { Accept: 'application/json', ...headers };
  if (body !== undefined) h['Content-Type'] = 'application/json';
  if (file !== undefined) h['Content-Type'] = 'application/octet-stream';
  if (csrfToken) h['X-Holdfast-CSRF'] = csrfToken;
  let r;
  try {
    r = await fetch(withQuery(path, query), {
      method, headers: h, signal, credentials: 'same-origin', redirect: 'error',
      body: body === undefined ? file : JSON.stringify(body),
    });
  } catch (e) {
    if (e.name === 'AbortError') throw e;
    throw new Unreachable();
  }
  if (r.ok) return r;
  if (r.status === 401) signedIn.set(false);
  throw new Problem(r.status, (await document_(r)) || {}, Number(r.headers.get('Retry-After')) || 0);
}

/** answer sends a request and returns {body, etag}. It fails with Problem or Unreachable. */
export async function answer(method, path, options) {
  const r = await send(method, path, options);
  return { body: await document_(r), etag: r.headers.get('ETag') };
}

/** postStream sends a request whose response is a stream of events, and calls on(name, data) for each. */
export async function postStream(path, body, on, signal) {
  const r = await send('POST', path, { body, signal, headers: { Accept: 'text/event-stream' } });
  const text = r.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (let part = await text.read(); !part.done; part = await text.read()) {
      const messages = (rest + part.value).split('\n\n');
      rest = messages.pop();
      for (const m of messages) {
        const lines = m.split('\n');
        const of = (name) => lines.filter((l) => l.startsWith(name + ': ')).map((l) => l.slice(name.length + 2)).join('\n');
        if (of('data')) on(of('event'), JSON.parse(of('data')));
      }
    }
  } catch (e) {
    if (e.name === 'AbortError') throw e;
    throw new Unreachable();
  }
}

async function document_(r) {
  if (!/json/.test(r.headers.get('Content-Type') || '')) return null;
  try {
    return await r.json();
  } catch {
    return null;
  }
}

const bodyOf = async (...args) => (await answer(...args)).body;
export const get = (path, query, signal) => bodyOf('GET', path, { query, signal });
export const post = (path, body) => bodyOf('POST', path, { body });
export const patch = (path, body, headers) => bodyOf('PATCH', path, { body, headers });
export const put = (path, query, file) => bodyOf('PUT', path, { query, file });
export const del = (path, query) => bodyOf('DELETE', path, { query });

/** seg is a segment of a path. */
export const seg = encodeURIComponent;

/** whoAmI asks who is logged in and stores the answer. */
export async function whoAmI() {
  const doc = await get('/v1/info');
  info.set(doc);
  // With a cookie but without its token a browser could only read.
  signedIn.set(doc.caller?.via !== 'cookie' || !!doc.caller.csrf);
  return doc;
}

/** may reports whether the caller has a scope. */
export function may(scope) {
  const s = info.get()?.caller?.scopes || [];
  return s.includes(scope) || s.includes('admin');
}
