// Formatting of times and durations.
import { html, useEffect, useState } from './dom.js';
import { store, useStore } from './store.js';

const now = store(Date.now());
let followers = 0;
let timer = 0;

/** useNow renders again each second while the page is visible. */
export function useNow() {
  useEffect(() => {
    if (followers++ === 0) timer = setInterval(() => now.set(Date.now()), 1000);
    return () => { if (--followers === 0) clearInterval(timer); };
  }, []);
  return useStore(now);
}

/** span formats a duration in at most two units. */
export function span(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return s + ' s';
  const m = Math.floor(s / 60);
  if (m < 60) return m < 10 && s % 60 ? `${m} min ${s % 60} s` : m + ' min';
  const h = Math.floor(m / 60);
  if (h < 48) return m % 60 && h < 10 ? `${h} h ${m % 60} min` : h + ' h';
  return Math.floor(h / 24) + ' days';
}

/** roughly formats a duration in one unit. */
const roughly = (ms) => (ms < 6e4 ? span(ms) : ms < 36e5 ? Math.floor(ms / 6e4) + ' min' : ms < 1728e5 ? Math.floor(ms / 36e5) + ' h' : Math.floor(ms / 864e5) + ' days');

const pad = (n) => String(n).padStart(2, '0');
export const clock = (t) => { const d = new Date(t); return `${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`; };
export const day = (t) => { const d = new Date(t); return `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())}`; };
export const full = (t) => `${day(t)} ${clock(t)}`;

/** Ago shows how long ago something was; the time is in its title. */
export function Ago({ at, exact }) {
  const t = useNow();
  const ms = t - new Date(at);
  return html`<time datetime=${at} title=${full(at)}>${ms < 5000 ? 'just now' : ms > 7 * 864e5 ? day(at) : (exact ? span(ms) : roughly(ms)) + ' ago'}</time>`;
}

/** At shows a time of day; date and time are in its title. */
export const At = ({ at }) => html`<time datetime=${at} title=${full(at)}>${clock(at)}</time>`;

/** formatDuration shows a measured duration, in milliseconds. */
export const formatDuration = (ms) => (ms == null ? '' : ms < 1000 ? `${ms} ms` : ms < 60000 ? `${(ms / 1000).toFixed(1)} s` : span(ms));

export const count = (n, one, many = one + 's') => `${n.toLocaleString('en')} ${n === 1 ? one : many}`;

/** useTimeout calls f once, after ms. */
export function useTimeout(f, ms) {
  const [, done] = useState(0);
  useEffect(() => {
    const id = setTimeout(() => { f(); done(1); }, ms);
    return () => clearTimeout(id);
  }, []);
}
