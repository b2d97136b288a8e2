// A session's events as they arrive.
import { get, signedIn, seg } from './api.js';

/**
 * follow calls on.record(event) for each record after `after`, on.delta, on.gap, on.caughtUp,
 * and on.state('live' | 'lost' | 'gone'). If the connection is lost, it continues where it
 * was. It returns a function that ends it.
 */
export function follow(id, after, on) {
  let source = null;
  let timer = 0;
  let ended = false;
  let wait = 400;
  const data = (e) => JSON.parse(e.data);
  const open = () => {
    if (ended) return;
    const es = new EventSource(`/v1/sessions/${seg(id)}/events?after=${after}`);
    source = es;
    es.addEventListener('record', (e) => {
      const r = data(e);
      if (e.lastEventId) after = Math.max(after, +e.lastEventId);
      on.record(r);
    });
    es.addEventListener('delta', (e) => on.delta(data(e)));
    es.addEventListener('gap', () => on.gap());
    es.addEventListener('caught_up', (e) => {
      wait = 400;
      on.state('live');
      on.caughtUp(data(e));
    });
    for (const end of ['shutdown', 'failed']) es.addEventListener(end, () => { es.close(); again(); });
    es.onopen = () => on.gap(); // the text so far is sent again
    es.onerror = () => {
      on.state('lost');
      if (es.readyState === EventSource.CLOSED) again();
    };
  };
  const again = () => {
    if (ended) return;
    on.state('lost');
    clearTimeout(timer);
    timer = setTimeout(async () => {
      wait = Math.min(wait * 1.7, 5000);
      try {
        await get(`/v1/sessions/${seg(id)}`);
        open();
      } catch (e) {
        if (e.status === 404) on.state('gone');
        else if (signedIn.get() !== false) again();
      }
    }, wait);
  };
  open();
  return () => {
    ended = true;
    clearTimeout(timer);
    source?.close();
  };
}
