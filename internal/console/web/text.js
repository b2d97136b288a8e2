// Text of models, tools and files. It becomes text nodes and spans, never HTML, and its
// invisible characters are made visible.
import { html } from './dom.js';
import { codeOf, inEmoji, plain, unseen } from './unseen.js';

export { plain };

/** oneLine returns plain text on one line, for titles and lists. */
export const oneLine = (s) => plain(String(s ?? '').replace(/\s+/g, ' ').trim());

/** seen returns text as nodes, with invisible characters marked. */
export function seen(s) {
  s = String(s ?? '').replace(/\r\n/g, '\n');
  const out = [];
  let from = 0;
  for (const m of s.matchAll(unseen)) {
    if (inEmoji(s, m.index, m[0])) continue;
    if (m.index > from) out.push(s.slice(from, m.index));
    out.push(html`<span class="unseen" title="an invisible character">${codeOf(m[0])}</span>`);
    from = m.index + m[0].length;
  }
  if (from < s.length) out.push(s.slice(from));
  return out;
}

/** hidesSomething reports whether a text contains invisible characters. */
export function hidesSomething(s) {
  s = String(s ?? '').replace(/\r\n/g, '\n');
  for (const m of s.matchAll(unseen)) if (!inEmoji(s, m.index, m[0])) return true;
  return false;
}
