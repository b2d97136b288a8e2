// Changes of files, as lines with + and -.
import { html, cls } from './dom.js';
import { seen, plain } from './text.js';

const linesOf = (s) => {
  const lines = String(s ?? '').replace(/\r\n/g, '\n').split('\n');
  if (lines.length > 1 && lines[lines.length - 1] === '') lines.pop();
  return lines;
};

/** isDiff reports whether a text is a unified diff. */
export const isDiff = (s) => /^@@ .* @@/m.test(s || '') || /^(--- .*\n\+\+\+ )/m.test(s || '');

/** unified reads a unified diff. */
export function unified(text) {
  let a = 0;
  let b = 0;
  let inside = false;
  return linesOf(text).map((l) => {
    const at = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(l);
    if (at) {
      [a, b, inside] = [+at[1], +at[2], true];
      return { kind: 'hunk', text: l };
    }
    if (!inside && /^(--- |\+\+\+ |diff |index )/.test(l)) return { kind: 'meta', text: l };
    inside = true;
    if (l[0] === '+') return { kind: 'add', text: l.slice(1), b: b ? b++ : 0 };
    if (l[0] === '-') return { kind: 'del', text: l.slice(1), a: a ? a++ : 0 };
    if (l[0] === '\\') return { kind: 'meta', text: l };
    return { kind: 'same', text: l[0] === ' ' ? l.slice(1) : l, a: a ? a++ : 0, b: b ? b++ : 0 };
  });
}

const maxLines = 600; // to compare

/** between compares two texts line by line. Without an old text everything is new. */
export function between(before, after) {
  const x = before == null || before === '' ? [] : linesOf(before);
  const y = after == null || after === '' ? [] : linesOf(after);
  if (x.length > maxLines || y.length > maxLines) {
    return [...x.map((text) => ({ kind: 'del', text })), ...y.map((text) => ({ kind: 'add', text }))];
  }
  const w = y.length + 1;
  const len = new Uint16Array((x.length + 1) * w);
  for (let i = x.length - 1; i >= 0; i--) {
    for (let j = y.length - 1; j >= 0; j--) {
      len[i * w + j] = x[i] === y[j] ? len[(i + 1) * w + j + 1] + 1 : Math.max(len[(i + 1) * w + j], len[i * w + j + 1]);
    }
  }
  const out = [];
  let i = 0;
  let j = 0;
  while (i < x.length || j < y.length) {
    if (i < x.length && j < y.length && x[i] === y[j]) {
      out.push({ kind: 'same', text: x[i++] });
      j++;
    } else if (i < x.length && (j >= y.length || len[(i + 1) * w + j] >= len[i * w + j + 1])) out.push({ kind: 'del', text: x[i++] });
    else out.push({ kind: 'add', text: y[j++] });
  }
  return out;
}

/**
 * changesOf returns what a call's input would change, as [{path, lines, note}]; empty if the
 * tool changes no file. A diff from the daemon takes precedence.
 */
export function changesOf(tool, input, shown, base) {
  if (shown && isDiff(shown)) return [{ path: input?.file_path || '', lines: unified(shown) }];
  const path = input?.file_path || input?.notebook_path || '';
  if (!input || typeof input !== 'object') return [];
  const str = (v) => typeof v === 'string';
  switch (tool) {
    case 'Edit':
      return str(input.old_string) || str(input.new_string)
        ? [{ path, lines: between(input.old_string, input.new_string), note: input.replace_all ? 'every occurrence' : '' }] : [];
    case 'MultiEdit':
      return Array.isArray(input.edits)
        ? input.edits.map((e, n) => ({ path, lines: between(e?.old_string, e?.new_string), note: `edit ${n + 1} of ${input.edits.length}${e?.replace_all ? ', every occurrence' : ''}` })) : [];
    case 'Write':
      return str(input.content)
        ? [{ path, lines: between('', input.content), note: base === 'absent' ? 'a new file' : base ? 'replaces the whole file' : '' }] : [];
    case 'NotebookEdit':
      return str(input.new_source) ? [{ path, lines: between('', input.new_source), note: input.edit_mode || 'cell' }] : [];
  }
  return [];
}

const sign = { add: '+', del: '-', same: ' ', hunk: '', meta: '' };

/** marked finds the differences between a line and its replacement. */
function marked(text, other) {
  let s = 0;
  while (s < text.length && s < other.length && text[s] === other[s]) s++;
  let e = 0;
  while (e < text.length - s && e < other.length - s && text[text.length - 1 - e] === other[other.length - 1 - e]) e++;
  if (s + e < Math.min(text.length, other.length) * 0.3) return seen(text);
  const mid = text.slice(s, text.length - e);
  return [seen(text.slice(0, s)), mid && html`<mark>${seen(mid)}</mark>`, seen(text.slice(text.length - e))];
}

function bodies(lines) {
  const out = lines.map((l) => seen(l.text));
  for (let i = 0; i < lines.length; i++) {
    if (lines[i].kind !== 'del') continue;
    let d = i;
    while (lines[d]?.kind === 'del') d++;
    let a = d;
    while (lines[a]?.kind === 'add') a++;
    if (d - i === a - d) {
      for (let n = 0; n < d - i; n++) {
        out[i + n] = marked(lines[i + n].text, lines[d + n].text);
        out[d + n] = marked(lines[d + n].text, lines[i + n].text);
      }
    }
    i = a - 1;
  }
  return out;
}

const words = { add: 'added', del: 'removed' };

/** Diff shows changed lines; + and - are part of the text. */
export function Diff({ path, lines, note }) {
  const body = bodies(lines);
  const numbered = lines.some((l) => l.a || l.b);
  return html`<figure class="diff">
    ${(path || note) && html`<figcaption>${path && html`<span class="mono">${plain(path)}</span>`} ${note && html`<span class="muted">${note}</span>`}</figcaption>`}
    <div class="diff-lines">${lines.map((l, i) => html`<div class=${cls('line', l.kind)} key=${i}>
      ${numbered && html`<span class="no" aria-hidden="true">${l.kind === 'add' ? l.b : l.a || ''}</span>`}
      <span class="sign">${words[l.kind] ? html`<span class="sr">${words[l.kind]} </span>` : ''}${sign[l.kind]}</span><span class="text">${body[i]}</span>
    </div>`)}</div>
  </figure>`;
}
