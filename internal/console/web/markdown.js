// Turns a small subset of Markdown into nodes: headings, lists, quotes, code, emphasis, links. Links
// are shown in full, images are not loaded, and HTML is text like any other.
import { html } from './dom.js';
import { seen } from './text.js';

const inlineMark = /(`+)([^`]|[^`].*?[^`])\1(?!`)|\*\*(?=\S)(.+?)(?<=\S)\*\*|(?<![\w*])\*(?=[^\s*])([^*\n]+?)(?<=\S)\*(?![\w*])|!?\[([^\]\n]*)\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?:\s+"[^"\n]*")?\)|https?:\/\/[^\s<>"'`)\]}]+/gs;

function safe(href) {
  try {
    const u = new URL(href);
    return u.protocol === 'https:' || u.protocol === 'http:' ? u.href : null;
  } catch {
    return null;
  }
}

function link(label, href) {
  const to = safe(href);
  if (!to) return html`<span>${seen(label)} (${seen(href)})</span>`;
  const a = html`<a href=${to} target="_blank" rel="noreferrer noopener nofollow">${seen(to)}</a>`;
  return label && label !== href && label !== to ? html`<span>${seen(label)} (${a})</span>` : a;
}

function inline(s, depth = 0) {
  const out = [];
  let from = 0;
  for (const m of s.matchAll(inlineMark)) {
    if (m.index > from) out.push(...seen(s.slice(from, m.index)));
    from = m.index + m[0].length;
    if (m[1]) out.push(html`<code>${seen(m[2].trim() ? m[2].replace(/^ (.*) $/s, '$1') : m[2])}</code>`);
    else if (m[3] !== undefined) out.push(html`<strong>${depth < 4 ? inline(m[3], depth + 1) : seen(m[3])}</strong>`);
    else if (m[4] !== undefined) out.push(html`<em>${depth < 4 ? inline(m[4], depth + 1) : seen(m[4])}</em>`);
    else if (m[6] !== undefined) out.push(m[0][0] === '!' ? html`<span>image: ${link(m[5], m[6])}</span>` : link(m[5], m[6]));
    else out.push(...bareLink(m[0]));
  }
  if (from < s.length) out.push(...seen(s.slice(from)));
  return out;
}

function bareLink(url) {
  const end = /[.,;:!?]+$/.exec(url)?.[0] || '';
  return [link('', url.slice(0, url.length - end.length)), end];
}

const bullet = /^( {0,8})([-*+]|\d{1,9}[.)]) +(.*)$/;

/** markdown returns a text's blocks as nodes. */
export function markdown(text, depth = 0) {
  const lines = String(text ?? '').replace(/\r\n/g, '\n').split('\n');
  const out = [];
  let i = 0;
  const take = (test) => {
    const got = [];
    while (i < lines.length && test(lines[i])) got.push(lines[i++]);
    return got;
  };
  while (i < lines.length) {
    const line = lines[i];
    let m;
    if (!line.trim()) i++;
    else if ((m = /^ {0,3}(`{3,}|~{3,}) *(\S*)/.exec(line))) {
      i++;
      const code = take((l) => !l.trimStart().startsWith(m[1]));
      i++;
      out.push(html`<pre class="code" tabindex="0">${seen(code.join('\n'))}</pre>`);
    } else if ((m = /^(#{1,6}) +(.*?)(?: +#+)?$/.exec(line))) {
      i++;
      out.push(html`<p class=${'heading heading-' + m[1].length}>${inline(m[2])}</p>`);
    } else if (/^ {0,3}([-*_])( *\1){2,} *$/.test(line)) {
      i++;
      out.push(html`<hr />`);
    } else if (/^ {0,3}>/.test(line)) {
      const quote = take((l) => /^ {0,3}>/.test(l)).map((l) => l.replace(/^ {0,3}> ?/, ''));
      out.push(html`<blockquote>${depth < 6 ? markdown(quote.join('\n'), depth + 1) : seen(quote.join('\n'))}</blockquote>`);
    } else if (bullet.test(line)) out.push(list(take((l) => bullet.test(l) || /^ {2,}\S/.test(l)), depth));
    else if (/^ *\|.*\| *$/.test(line)) out.push(html`<pre class="code" tabindex="0">${seen(take((l) => /^ *\|/.test(l)).join('\n'))}</pre>`);
    else {
      const para = take((l) => l.trim() && !/^ {0,3}(`{3,}|~{3,}|#{1,6} |>)/.test(l) && !bullet.test(l));
      if (!para.length) para.push(lines[i++]);
      out.push(html`<p>${inline(para.join('\n'))}</p>`);
    }
  }
  return out;
}

// list builds a list from lines that start with a bullet or continue the previous one.
function list(lines, depth) {
  const first = bullet.exec(lines[0]);
  const indent = first[1].length;
  const items = [];
  for (const l of lines) {
    const m = bullet.exec(l);
    if (m && m[1].length <= indent + 1) items.push({ head: m[3], rest: [] });
    else items[items.length - 1].rest.push(l.replace(/^ {1,4}/, ''));
  }
  const body = items.map((it) => html`<li>${inline(it.head)}${it.rest.length && depth < 6 ? markdown(it.rest.join('\n'), depth + 1) : seen(it.rest.join('\n'))}</li>`);
  return /\d/.test(first[2]) ? html`<ol start=${parseInt(first[2], 10)}>${body}</ol>` : html`<ul>${body}</ul>`;
}
