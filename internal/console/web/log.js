// The loaded records of a session: one range without gaps, which grows at both ends, and
// new records as they arrive.
import { useEffect, useRef, useState } from './dom.js';
import { get, seg } from './api.js';
import { follow } from './stream.js';
import { Transcript, Provisional } from './transcript.js';

const page = 400;

/** useLog loads a session's records around seq, or the last ones. */
export function useLog(id, seq, onNew) {
  const s = useRef(null);
  const [, draw] = useState(0);
  const frame = useRef(0);
  const redraw = () => { frame.current ||= requestAnimationFrame(() => { frame.current = 0; draw((n) => n + 1); }); };
  const made = s.current || (s.current = { events: [], fold: new Transcript(), coming: new Provisional(), first: 0, after: 0, head: 0, live: 'loading', error: null, busy: false, stop: () => {} });
  const path = `/v1/sessions/${seg(id)}/events`;

  const start = async (near) => {
    const me = s.current;
    const turn = (me.turn = (me.turn || 0) + 1);
    me.stop();
    me.coming.clear();
    me.live = 'loading';
    me.busy = false;
    try {
      const doc = await get(path, near ? { after: Math.max(0, near - 120), limit: page } : { after: -page, limit: page });
      if (turn !== me.turn) return;
      me.events = doc.items;
      me.fold = new Transcript(doc.items);
      me.head = doc.head;
      me.after = doc.items.length ? (doc.next_after ?? doc.items[doc.items.length - 1].seq) : near ? Math.max(0, near - 120) : doc.head;
      me.first = doc.items.length ? doc.items[0].seq : 0;
      me.top = me.first <= 1 || (near ? near <= 120 : doc.items.length < page);
      me.error = null;
      if (me.after >= me.head) tail();
      else me.live = 'away';
    } catch (e) {
      if (turn !== me.turn) return;
      me.error = e;
      me.live = 'lost';
    }
    redraw();
  };

  const tail = () => {
    const me = s.current;
    me.stop();
    me.live = 'connecting';
    me.stop = follow(id, me.after, {
      record(e) {
        me.head = Math.max(me.head, e.seq);
        me.after = Math.max(me.after, e.seq);
        me.coming.record(e);
        if (me.fold.add(e)) {
          me.events.push(e);
          onNew(e);
        }
        redraw();
      },
      delta(d) { if (me.coming.delta(d)) redraw(); },
      gap() { if (me.coming.clear()) redraw(); },
      caughtUp() { redraw(); },
      state(v) { if (v !== me.live) { me.live = v; redraw(); } },
    });
  };

  const older = async () => {
    const me = s.current;
    if (me.busy || me.top || !me.events.length) return;
    me.busy = true;
    const turn = me.turn;
    try {
      const after = Math.max(0, me.first - 1 - page);
      const doc = await get(path, { after, limit: page });
      if (turn !== me.turn) return; // another load has started meanwhile
      const before = doc.items.filter((e) => e.seq < me.first);
      me.events = [...before, ...me.events];
      me.fold = new Transcript(me.events);
      me.first = me.events[0].seq;
      me.top = after === 0 || !before.length;
    } catch (e) {
      if (turn !== me.turn) return;
      me.error = e;
    }
    me.busy = false;
    redraw();
  };

  const newer = async () => {
    const me = s.current;
    if (me.busy || me.live !== 'away') return;
    me.busy = true;
    const turn = me.turn;
    try {
      const doc = await get(path, { after: me.after, limit: page });
      if (turn !== me.turn) return;
      for (const e of doc.items) if (me.fold.add(e)) me.events.push(e);
      me.after = doc.next_after ?? (doc.items.length ? doc.items[doc.items.length - 1].seq : doc.head);
      me.head = doc.head;
      if (!doc.items.length || me.after >= me.head) tail();
    } catch (e) {
      if (turn !== me.turn) return;
      me.error = e;
    }
    me.busy = false;
    redraw();
  };

  useEffect(() => {
    start(seq);
    const away = () => {
      const me = s.current;
      clearTimeout(me.hide);
      if (document.hidden) me.hide = setTimeout(() => { if (me.live === 'live') { me.stop(); me.live = 'hidden'; } }, 15000);
      else if (me.live === 'hidden') tail();
    };
    document.addEventListener('visibilitychange', away);
    return () => {
      s.current.turn++;
      s.current.stop();
      clearTimeout(s.current.hide);
      cancelAnimationFrame(frame.current);
      frame.current = 0;
      document.removeEventListener('visibilitychange', away);
    };
  }, [id]);
  return { log: made, older, newer, jump: start };
}
