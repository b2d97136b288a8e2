// Pending approvals, oldest first.
import { html, useEffect, useLayoutEffect, useRef, useState } from './dom.js';
import { useStore } from './store.js';
import { approvals, refresh, connection } from './live.js';
import { get, seg } from './api.js';
import { Empty, Trouble, Waiting } from './load.js';
import { Approval } from './approval.js';
import { announce, typing } from './parts.js';
import { oneLine } from './text.js';
import { count } from './time.js';

const rest = 450; // ms after the list has moved during which no answer is accepted
const stay = 5000; // ms during which another client's answer is shown

/** useShown keeps approvals that others have answered for a while. */
export function useShown(items) {
  const [gone, setGone] = useState(new Map()); // id → {q, answer}
  const before = useRef(new Map());
  const own = useRef(new Set());
  const drop = (id) => setGone((g) => { const m = new Map(g); m.delete(id); return m; });
  useEffect(() => {
    const now = new Map(items.map((q) => [q.id, q]));
    for (const [id, q] of before.current) {
      if (now.has(id) || own.current.has(id)) continue;
      setGone((g) => new Map(g).set(id, { q, answer: { decision: 'answered' } }));
      get('/v1/approvals/' + seg(id)).then((doc) => {
        if (own.current.has(id)) return;
        const answer = doc.answer || { decision: doc.state };
        setGone((g) => (g.has(id) ? new Map(g).set(id, { q, answer }) : g));
        announce(`${q.tool}: ${answer.decision} by ${answer.by || 'somebody'}`);
      }).catch(() => {}).then(() => setTimeout(() => drop(id), stay));
    }
    before.current = now;
  }, [items]);
  const shown = [...items];
  for (const { q } of gone.values()) if (!items.some((i) => i.id === q.id)) shown.push(q);
  shown.sort((a, b) => (a.asked_at < b.asked_at ? -1 : a.asked_at > b.asked_at ? 1 : 0));
  return { shown, gone, mine: (id) => { own.current.add(id); drop(id); } }; // the list can be updated before the answer's response arrives
}

/** Inbox is the first screen. */
export function Inbox({ onHelp }) {
  const { items, loaded, error } = useStore(approvals);
  const link = useStore(connection);
  const { shown, gone, mine } = useShown(items);
  const [at, setAt] = useState('');
  const order = shown.map((q) => q.id);
  const moved = useRef(0);
  const keyed = useRef({});
  const last = useRef(order);

  // The list has moved under the pointer: for a short time no answer is accepted.
  useLayoutEffect(() => {
    const was = last.current;
    if (was.some((id, i) => order[i] !== id)) moved.current = Date.now();
    if (at && !order.includes(at)) {
      const i = was.indexOf(at);
      const next = was.slice(i + 1).find((id) => order.includes(id)) || [...was.slice(0, i)].reverse().find((id) => order.includes(id)) || '';
      setAt(next);
      const had = document.activeElement === document.body || !document.activeElement;
      if (had) (document.getElementById('q-' + next) || document.getElementById('screen-title'))?.focus({ preventScroll: !next });
    }
    last.current = order;
  });
  const armed = () => Date.now() - moved.current > rest;

  const onKey = useRef(null);
  onKey.current = (e) => {
    if (typing(e) || !order.length) return;
    const i = order.indexOf(at);
    const select = (id) => {
      setAt(id);
      const el = document.getElementById('q-' + id);
      el?.focus({ preventScroll: true });
      el?.scrollIntoView({ block: 'nearest' });
    };
    const act = keyed.current[at]?.current;
    const away = gone.has(at) && !items.some((q) => q.id === at);
    const key = e.key;
    if (key === 'j' || key === 'k') {
      select(order[i < 0 ? 0 : Math.max(0, Math.min(order.length - 1, i + (key === 'j' ? 1 : -1)))]);
    } else if (e.repeat) return;
    else if (i < 0 && 'ynamsp'.includes(key)) select(order[0]); // first show which one is selected
    else if (!act || away) return;
    else if (key === 'y') act.decide({ decision: 'allow' });
    else if (key === 'n') act.decide({ decision: 'deny' });
    else if (key === 'm') act.open('reason');
    else if (key === 's') act.decide({ decision: 'deny', stop: true });
    else if (key === 'a' && !act.once) act.open('scope');
    else if (key === 'p' && act.canSaveRule) act.open('always');
    else return;
    e.preventDefault();
  };
  useEffect(() => {
    const f = (e) => onKey.current(e);
    addEventListener('keydown', f);
    return () => removeEventListener('keydown', f);
  }, []);

  return html`<div class="screen">
    <div class="screen-head"><h1 id="screen-title" tabindex="-1">Inbox</h1>
      <p class="muted">${loaded ? (items.length ? count(items.length, 'pending approval') + ', oldest first' : '') : ''}</p>
      <button type="button" class="quiet push" onClick=${onHelp}>Keyboard <kbd>?</kbd></button></div>
    ${!loaded && !error && html`<${Waiting} what="Loading approvals" />`}
    ${error && link !== 'live' && html`<${Trouble} error=${error} again=${refresh} />`}
    ${loaded && !shown.length && html`<${Empty} title="No pending approvals">
      <p class="muted">When an agent needs approval for a call, it appears here. This page updates automatically.</p></${Empty}>`}
    <div class="questions">${shown.map((q) => {
      const k = (keyed.current[q.id] ||= { current: null });
      const open = items.some((i) => i.id === q.id);
      return html`<${Approval} key=${q.id} q=${q} gone=${open ? null : gone.get(q.id)?.answer} keys=${k} armed=${armed} selected=${at === q.id}
        onSelect=${() => setAt(q.id)} onDone=${(d, doc) => { mine(d.id); announce(`${oneLine(d.tool)}: ${doc?.answer?.decision || 'answered'}`); }} />`;
    })}</div>
  </div>`;
}
