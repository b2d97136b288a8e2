// Text of models, tools and files. It becomes text nodes and spans, never HTML, and what
// cannot be seen in it is made visible.
import { html } from './dom.js';
import { codeOf, inEmoji, plain, unseen } from './unseen.js';

export { plain };

/** oneLine is plain text on one line, for titles and lists. */
export const oneLine = (s) => plain(String(s ?? '').replace(/\s+/g, ' ').trim());

/** seen is text as nodes: what cannot be seen is marked. */
export function seen(s) {
  s = String(s ?? '').replace(/\r\n/g, '\n');
  const out = [];
  let from = 0;
  for (const m of s.matchAll(unseen)) {
    if (inEmoji(s, m.index, m[0])) continue;
    if (m.index > from) out.push(s.slice(from, m.index));
    out.push(html`<span class="unseen" title="a character that cannot be seen">${codeOf(m[0])}</span>`);
    from = m.index + m[0].length;
  }
  if (from < s.length) out.push(s.slice(from));
  return out;
}

/** hidesSomething reports whether a text has characters that cannot be seen. */
export function hidesSomething(s) {
  s = String(s ?? '').replace(/\r\n/g, '\n');
  for (const m of s.matchAll(unseen)) if (!inEmoji(s, m.index, m[0])) return true;
  return false;
}
