// All sessions, newest first; search and filters are in the URL.
import { html, useEffect, useRef, useState } from './dom.js';
import { get } from './api.js';
import { useRoute, setQuery, sessionPath } from './route.js';
import { useLoad, Trouble, Waiting, Empty } from './load.js';
import { StatusBadge, Badge, titleOf, shortPath } from './parts.js';
import { oneLine, plain } from './text.js';
import { Ago, count } from './time.js';
import { useStore } from './store.js';
import { approvals } from './live.js';

const filters = ['q', 'cwd', 'tag', 'run', 'asked', 'owner'];
const runs = ['running', 'completed', 'failed', 'cancelled', 'interrupted']; // what can be on record

/** Field is an input whose value is put into the URL shortly after typing. */
export function Field({ name, label, type = 'search', value, placeholder, wide }) {
  const [text, set] = useState(value);
  const timer = useRef(0);
  useEffect(() => set(value), [value]);
  const put = (v) => setQuery({ [name]: v, cursor: '' });
  return html`<label class=${'field' + (wide ? ' field-wide' : '')}><span>${label}</span><input type=${type} name=${name} value=${text} placeholder=${placeholder} autocomplete="off" spellcheck=${false}
    onInput=${(e) => { const v = e.target.value; set(v); clearTimeout(timer.current); timer.current = setTimeout(() => put(v), 250); }}
    onKeyDown=${(e) => { if (e.key === 'Enter') { clearTimeout(timer.current); put(e.target.value); } }} /></label>`;
}

/** Pager links to the next page; the browser's back button returns. */
export function Pager({ next, cursor }) {
  if (!next && !cursor) return null;
  return html`<nav class="pager" aria-label="Pages">
    ${cursor && html`<button type="button" onClick=${() => setQuery({ cursor: '' }, { replace: false })}>First page</button>`}
    ${next && html`<button type="button" onClick=${() => { setQuery({ cursor: next }, { replace: false }); scrollTo(0, 0); }}>Next page</button>`}</nav>`;
}

function Line({ s }) {
  return html`<tr>
    <td><${StatusBadge} status=${s.status} questions=${s.questions} /></td>
    <td class="main-cell"><a href=${sessionPath(s.id)}>${titleOf(s)}</a>
      <div class="sub muted">${s.title || s.first_prompt ? html`<span class="mono">${oneLine(s.id)}</span>` : ''}${s.tag && html` <${Badge} kind="plain">${oneLine(s.tag)}</${Badge}>`}
        ${s.parent && html` <span>fork</span>`}${s.held_by && !s.held_by.here && html` <span title=${oneLine(typeof s.held_by === 'string' ? s.held_by : JSON.stringify(s.held_by))}>open elsewhere</span>`}${s.owner && html` <span>of ${oneLine(s.owner)}</span>`}</div></td>
    <td class="mono folder" title=${plain(s.cwd || '')}>${shortPath(s.cwd || '')}</td>
    <td class="model" title=${oneLine(s.model || '')}>${oneLine(s.model || '')}</td>
    <td class="num right">${s.message_count}</td>
    <td class="num right nowrap"><${Ago} at=${s.updated_at} /></td></tr>`;
}

export function Sessions() {
  const { query } = useRoute();
  const f = Object.fromEntries(filters.map((k) => [k, query.get(k) || '']));
  const cursor = query.get('cursor') || '';
  const open = useStore(approvals).items;
  const { doc, error, busy, again } = useLoad(() => get('/v1/sessions', { ...f, asked: f.asked ? 'true' : '', cursor, limit: 50 }), [JSON.stringify(f), cursor]);
  const first = useRef(true);
  useEffect(() => { if (!first.current) again(); first.current = false; }, [open.length]);
  useEffect(() => { const t = setInterval(() => { if (!document.hidden && !cursor) again(); }, 10000); return () => clearInterval(t); }, [again, cursor]);
  const some = filters.some((k) => f[k]);
  const clear = () => setQuery({ ...Object.fromEntries(filters.map((k) => [k, ''])), cursor: '' });
  return html`<div class="screen screen-wide">
    <div class="screen-head"><h1 id="screen-title" tabindex="-1">Sessions</h1><p class="muted" role="status">${doc && !busy ? count(doc.items.length, 'session') + (doc.next_cursor ? ', and more' : '') : ''}</p></div>
    <form class="filters" role="search" onSubmit=${(e) => e.preventDefault()}>
      <${Field} name="q" label="Search" value=${f.q} placeholder="title, prompt, id, folder" wide=${true} />
      <${Field} name="cwd" label="Folder" type="text" value=${f.cwd} />
      <${Field} name="tag" label="Tag" type="text" value=${f.tag} />
      <label class="field"><span>Run</span><select value=${f.run} onChange=${(e) => setQuery({ run: e.target.value, cursor: '' })}>
        <option value="">any</option>${runs.map((r) => html`<option value=${r}>${r}</option>`)}</select></label>
      <label class="check"><input type="checkbox" checked=${!!f.asked} onChange=${(e) => setQuery({ asked: e.target.checked, cursor: '' })} /> with pending approvals</label>
      ${some && html`<button type="button" class="quiet" onClick=${clear}>Clear</button>`}
    </form>
    <${Trouble} error=${error} again=${again} />
    ${!doc && !error && html`<${Waiting} />`}
    ${doc && !doc.items.length && html`<${Empty} title=${some ? 'No session matches' : 'No sessions yet'}>
      ${some ? html`<p><button type="button" onClick=${clear}>Clear the filters</button></p>` : html`<p class="muted">Start one: <code>holdfast run "…"</code></p>`}</${Empty}>`}
    ${doc?.items.length > 0 && html`<div class="table-box" tabindex="0" role="region" aria-label="sessions"><table class="list"><thead><tr><th scope="col">State</th><th scope="col">Session</th><th scope="col">Folder</th><th scope="col" class="model-head">Model</th>
      <th scope="col" class="right">Messages</th><th scope="col" class="right">Updated</th></tr></thead><tbody>${doc.items.map((s) => html`<${Line} key=${s.id} s=${s} />`)}</tbody></table></div>`}
    <${Pager} next=${doc?.next_cursor} cursor=${cursor} />
  </div>`;
}
