// The current screen. Every state worth returning to is in the URL.
import { store, useStore } from './store.js';

const read = () => ({
  path: location.pathname.replace(/\/+$/, '') || '/',
  query: new URLSearchParams(location.search),
  hash: location.hash.slice(1),
});

const here = store(read());

export const useRoute = () => useStore(here);
export const route = () => here.get();

/** go shows another screen. With replace it adds no entry to the history. */
export function go(to, { replace = false } = {}) {
  if (replace) history.replaceState(null, '', to);
  else history.pushState(null, '', to);
  here.set(read());
}

/** setQuery changes parts of the query; empty values are removed. */
export function setQuery(changes, { replace = true } = {}) {
  const q = new URLSearchParams(location.search);
  for (const [k, v] of Object.entries(changes)) {
    if (v === '' || v == null || v === false) q.delete(k);
    else q.set(k, v === true ? '1' : v);
  }
  const s = q.toString();
  go(location.pathname + (s ? '?' + s : ''), { replace });
}

/** sessionPath returns the path of a session, or of one of its records. */
export const sessionPath = (id, seq) => '/sessions/' + encodeURIComponent(id) + (seq ? '#seq-' + seq : '');

/** start follows links within the page without reloading it. */
export function start() {
  addEventListener('popstate', () => here.set(read()));
  addEventListener('hashchange', () => here.set(read()));
  document.addEventListener('click', (e) => {
    if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
    const a = e.target.closest?.('a[href]');
    if (!a || a.target || a.hasAttribute('download') || a.origin !== location.origin) return;
    if (a.pathname.startsWith('/v1/')) return;
    if (a.classList.contains('skip')) return;
    e.preventDefault();
    if (a.href === location.href) return;
    go(a.pathname + a.search + a.hash);
    if (!a.hash) scrollTo(0, 0);
  });
}
