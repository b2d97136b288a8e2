// The audit trail: who decided and did what, and whether the log is unchanged.
import { html, cls, useState } from './dom.js';
import { get, post } from './api.js';
import { useRoute, setQuery, sessionPath } from './route.js';
import { useLoad, Trouble, Waiting, Empty } from './load.js';
import { Badge, Json } from './parts.js';
import { Field, Pager } from './sessions.js';
import { seen, oneLine } from './text.js';
import { full, clock, day, count } from './time.js';

const kinds = ['decision', 'effect', 'approval', 'policy', 'hook', 'redaction', 'run', 'session', 'access'];
const colours = { allow: 'yes', deny: 'no', ask: 'ask', ok: 'yes', error: 'no', unknown: 'ask' };

const by = (a) => (a ? oneLine([a.kind, a.name].filter(Boolean).join(' ')) : '');

function what(e) {
  const about = (e.resources || []).map((r) => r.name).join(', ');
  return oneLine([e.event, e.tool, about || (e.action === 'deny' ? '' : e.reason)].filter(Boolean).join(' ')) || '–';
}

function Entry({ e, open, toggle, one }) {
  return html`<tr class=${cls(open && 'open')}><td class="num nowrap"><button type="button" class="link" aria-expanded=${open} onClick=${toggle} aria-label=${`Detail of ${e.seq}`}>${e.seq}</button></td>
    <td class="num nowrap" title=${full(e.time)}><time datetime=${e.time}><span class="muted">${day(e.time).slice(5)}</span> ${clock(e.time)}</time></td>
    ${!one && html`<td class="clip-cell">${e.kind === 'access' ? e.from || '' : html`<a href=${sessionPath(e.session, e.seq)}>${oneLine(e.session)}</a>`}</td>`}
    <td class="nowrap">${oneLine(e.kind)} <${Badge} kind=${colours[e.action] || 'plain'}>${oneLine(e.action)}</${Badge}></td>
    <td>${by(e.actor)}</td><td class="mono what-cell">${what(e)}</td>
    <td class="nowrap">${e.outcome && html`<${Badge} kind=${colours[e.outcome] || 'plain'}>${oneLine(e.outcome)}</${Badge}>`}${e.exit_code ? ` exit ${e.exit_code}` : ''}</td></tr>
    ${open && html`<tr class="detail"><td colspan=${one ? 6 : 7}>${e.reason && html`<p>${seen(e.reason)}</p>`}${e.kind !== 'access' && html`<p><a href=${sessionPath(e.session, e.seq)}>Show in the session</a></p>`}<${Json} value=${e} label=${'entry ' + e.seq} /></td></tr>`}`;
}

function Verify({ session }) {
  const [state, set] = useState({});
  const run = async () => {
    set({ busy: true });
    try { set({ doc: await post('/v1/audit/verify', session ? { session } : {}) }); } catch (error) { set({ error }); }
  };
  const d = state.doc;
  return html`<section class="panel" aria-labelledby="verify"><div class="panel-head"><h2 id="verify">Verification</h2><button type="button" class="primary" onClick=${run} disabled=${state.busy}>${state.busy ? 'Checking …' : session ? 'Verify this session' : 'Verify everything'}</button></div>
    <div role="status">${d && html`<p><${Badge} kind=${d.ok ? 'yes' : 'no'}>${d.ok ? 'verified' : 'damaged'}</${Badge}> ${count(d.records, 'record')} of ${count(d.sessions, 'session')}, ${count(d.leaves, 'entry')} in the audit trail</p>
      ${d.signed && html`<p class="muted">checkpoint ${d.checkpoint}, signed ${full(d.signed)}</p><p class="mono muted small">${oneLine(d.key || '')}</p>`}
      ${(d.findings || []).map((f) => html`<p class="warning">${oneLine(f.session || '')}${f.seq ? ' at ' + f.seq : ''}: ${seen(f.what)}</p>`)}
      ${(d.notes || []).map((n) => html`<p class="muted">${seen(n)}</p>`)}`}</div>
    ${!d && !state.error && html`<p class="muted">Checks every record's digest, the hash chain, and the signed audit trail.</p>`}
    <${Trouble} error=${state.error} /></section>`;
}

export function Audit() {
  const { query } = useRoute();
  const [session, kind, cursor] = ['session', 'kind', 'cursor'].map((k) => query.get(k) || '');
  const [open, setOpen] = useState('');
  const { doc, error, again } = useLoad(() => get('/v1/audit', { session, kind, cursor, limit: 100 }), [session, kind, cursor]);
  return html`<div class="screen screen-wide"><div class="screen-head"><h1 id="screen-title" tabindex="-1">Audit</h1><p class="muted">Every decision, who made it, and its outcome.</p></div>
    <form class="filters" onSubmit=${(e) => e.preventDefault()}><${Field} name="session" label="Session" value=${session} wide=${true} placeholder="session id; empty for all" />
      <label class="field"><span>Kind</span><select value=${kind} onChange=${(e) => setQuery({ kind: e.target.value, cursor: '' })}><option value="">any</option>${kinds.map((k) => html`<option value=${k}>${k}</option>`)}</select></label></form>
    <${Verify} key=${session} session=${session} />
    <${Trouble} error=${error} again=${again} />
    ${!doc && !error && html`<${Waiting} />`}
    ${doc && !doc.items.length && html`<${Empty} title="No matching entries" />`}
    ${doc?.items.length > 0 && html`<div class="table-box" tabindex="0" role="region" aria-label="evidence"><table class="list audit"><thead><tr><th scope="col">Seq</th><th scope="col">Time</th>${!session && html`<th scope="col">Session</th>`}<th scope="col">Evidence</th><th scope="col">By</th><th scope="col">What</th><th scope="col">Outcome</th></tr></thead>
      <tbody>${doc.items.map((e) => { const k = e.session + e.seq + e.digest; return html`<${Entry} key=${k} e=${e} one=${!!session} open=${open === k} toggle=${() => setOpen(open === k ? '' : k)} />`; })}</tbody></table></div>`}
    <${Pager} next=${doc?.next_cursor} cursor=${cursor} /></div>`;
}
