// A long list of which only the visible rows are in the document. Heights are measured when
// rows become visible; the row at the top of the screen stays there when rows change.
import { html, useCallback, useEffect, useLayoutEffect, useRef, useState } from './dom.js';

const guess = 44; // estimated pixels of a row that was never visible
const beyond = 900; // pixels above and below the screen that are rendered

function offsets(rows, heights) {
  const at = new Float64Array(rows.length + 1);
  for (let i = 0; i < rows.length; i++) at[i + 1] = at[i] + (heights.get(rows[i].key) ?? guess);
  return at;
}

// find returns the row at an offset.
function find(at, y) {
  let low = 0;
  let high = at.length - 2;
  while (low < high) {
    const mid = (low + high + 1) >> 1;
    if (at[mid] <= y) low = mid;
    else high = mid - 1;
  }
  return Math.max(0, low);
}

/**
 * Windowed shows rows, each with a key. props: show(row), head (pixels covered at the top of
 * the screen), stick (stay at the end), onStick(bool), onTop() and onEnd() when earlier or
 * later rows are needed, goal ({key, n}: scroll to this row).
 */
export function Windowed({ rows, show, label, head = 0, stick, onStick, onTop, onEnd, goal }) {
  const box = useRef(null);
  const heights = useRef(new Map());
  const anchor = useRef(null); // {key, y}: the first visible row and its position on the screen
  const wide = useRef(0);
  const [, draw] = useState(0);
  const again = useCallback(() => draw((n) => n + 1), []);
  const p = useRef(null);
  p.current = { rows, stick, onStick, onTop, onEnd, head };
  const own = useRef(-1); // where this list has scrolled itself

  const at = offsets(rows, heights.current);
  const top = box.current ? box.current.getBoundingClientRect().top : 0;
  let from = rows.length ? find(at, -top - beyond) : 0;
  let to = rows.length ? find(at, -top + innerHeight + beyond) + 1 : 0;
  if (!box.current && stick) [from, to] = [Math.max(0, rows.length - 30), rows.length];
  const target = goal && goal.n !== p.reached ? rows.findIndex((r) => r.key === goal.key) : -1;

  const scroll = (y) => {
    const most = document.documentElement.scrollHeight - innerHeight;
    own.current = Math.max(0, Math.min(Math.round(y), most));
    scrollTo(0, own.current);
  };

  const note = () => {
    if (!box.current) return;
    const { rows: list, head: h } = p.current;
    const a = offsets(list, heights.current);
    const t = box.current.getBoundingClientRect().top;
    const i = find(a, Math.max(0, h - t));
    anchor.current = list[i] ? { key: list[i].key, y: t + a[i] } : null;
  };

  const settle = () => {
    const el = box.current;
    if (!el) return false;
    let changed = false;
    for (const row of el.children[1].children) {
      const h = row.getBoundingClientRect().height;
      if (Math.abs((heights.current.get(row.dataset.key) ?? -1) - h) > 0.5) {
        heights.current.set(row.dataset.key, h);
        changed = true;
      }
    }
    return changed;
  };

  useLayoutEffect(() => {
    const el = box.current;
    if (!el) return;
    const changed = settle();
    const { rows: list } = p.current;
    const a = offsets(list, heights.current);
    el.style.height = a[list.length] + 'px';
    el.children[0].style.height = a[from] + 'px';
    const t = el.getBoundingClientRect().top;
    if (target >= 0) {
      scroll(scrollY + t + a[target] - head - 12);
      note();
      if (changed || !el.querySelector(`[data-key="${CSS.escape(goal.key)}"]`)) again();
      else p.reached = goal.n;
      return;
    }
    if (stick) {
      scroll(document.documentElement.scrollHeight);
    } else if (anchor.current) {
      const i = list.findIndex((r) => r.key === anchor.current.key);
      if (i >= 0 && Math.abs(t + a[i] - anchor.current.y) > 1) scroll(scrollY + t + a[i] - anchor.current.y);
    }
    if (changed) again();
  });

  useEffect(() => {
    let frame = 0;
    const look = () => {
      frame = 0;
      if (!box.current) return;
      const end = document.documentElement.scrollHeight - innerHeight - scrollY < 40;
      if (Math.abs(scrollY - own.current) > 2) {
        own.current = -1;
        if (end !== p.current.stick) p.current.onStick?.(end);
      }
      note();
      const t = box.current.getBoundingClientRect().top;
      if (t > -1200) p.current.onTop?.();
      if (end) p.current.onEnd?.();
      again();
    };
    const moved = () => { frame ||= requestAnimationFrame(look); };
    const sizes = new ResizeObserver(() => {
      const w = box.current?.clientWidth || 0;
      if (Math.abs(w - wide.current) > 1) {
        wide.current = w;
        heights.current.clear();
      }
      if (settle()) again();
    });
    addEventListener('scroll', moved, { passive: true });
    addEventListener('resize', moved);
    sizes.observe(box.current);
    sizes.observe(box.current.children[1]);
    wide.current = box.current.clientWidth;
    note();
    return () => {
      cancelAnimationFrame(frame);
      removeEventListener('scroll', moved);
      removeEventListener('resize', moved);
      sizes.disconnect();
    };
  }, []);

  if (target >= 0) [from, to] = [Math.max(0, target - 12), Math.min(rows.length, target + 24)];
  return html`<div class="windowed" ref=${box}>
    <div class="windowed-before"></div>
    <div role="list" aria-label=${label}>
      ${rows.slice(from, to).map((r, i) => html`<div role="listitem" class="windowed-row" key=${r.key} data-key=${r.key}
        aria-setsize=${rows.length} aria-posinset=${from + i + 1}>${show(r)}</div>`)}
    </div>
  </div>`;
}
