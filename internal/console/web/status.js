// Checks of the machine and the setup, connected clients, and access.
import { html, useEffect, useState } from './dom.js';
import { get, post, del, may, info, seg } from './api.js';
import { useStore } from './store.js';
import { useLoad, Trouble, Waiting } from './load.js';
import { Badge, Confirm, Fact } from './parts.js';
import { seen, oneLine } from './text.js';
import { Ago, full, span } from './time.js';

// a 503 of readyz also has the document
const ready = () => get('/readyz').catch((e) => { if (e.doc?.checks || e.doc?.status) return e.doc; throw e; });
const states = { ok: 'yes', warn: 'ask', fail: 'no' };

const checksOf = (c) => (Array.isArray(c) ? c : Object.entries(c || {}).map(([name, v]) => ({ name, ...(typeof v === 'object' ? v : { state: v === true || v === 'ok' ? 'ok' : 'fail', detail: v === true ? '' : String(v) }) })));

function Checks({ list }) {
  const mark = (k) => k.state || (k.ok === false ? 'fail' : 'ok');
  return html`<div class="table-box" tabindex="0" role="region" aria-label="checks"><table class="list"><thead><tr><th scope="col">State</th><th scope="col">What</th><th scope="col">Detail</th></tr></thead><tbody>
    ${list.map((k, i) => html`<tr key=${i}><td><${Badge} kind=${states[mark(k)] || 'plain'}>${mark(k)}</${Badge}></td><td>${oneLine(k.name)}</td><td>${seen(k.detail || '')}${k.hint && html`<div class="hint">hint: <code>${seen(k.hint)}</code></div>`}</td></tr>`)}</tbody></table></div>`;
}

const scopes = ['read', 'run', 'approve', 'admin'];
const says = { read: 'read', run: 'start, steer, stop', approve: 'answer, change policy', admin: 'everything' };

function Tokens() {
  const { doc, error, again } = useLoad(() => get('/v1/tokens'), []);
  const [name, setName] = useState('');
  const [want, setWant] = useState(['read']);
  const [made, setMade] = useState(null);
  const [bad, setBad] = useState(null);
  const [taking, take] = useState(null);
  const make = async (e) => {
    e.preventDefault();
    try { setMade(await post('/v1/tokens', { name: name.trim(), scopes: want })); setName(''); setBad(null); again(); } catch (err) { setBad(err); }
  };
  const link = async () => { try { setMade(await post('/v1/login/link')); setBad(null); } catch (err) { setBad(err); } };
  const revoke = async (t) => { try { await del('/v1/tokens/' + seg(t.id)); } catch (err) { setBad(err); } again(); };
  const secret = made?.secret || made?.token?.secret;
  return html`<section class="panel" aria-labelledby="tokens"><div class="panel-head"><h2 id="tokens">Access</h2><button type="button" onClick=${link}>Create a login link</button></div>
    <${Trouble} error=${error || bad} again=${again} />
    ${made && html`<div class="made" role="status"><p>${made.url ? 'This link logs in one browser, once:' : 'The secret is shown only once:'}</p><pre class="command" tabindex="0">${oneLine(made.url || secret || '')}</pre>${made.expires_at && html`<p class="muted">until ${full(made.expires_at)}</p>`}<button type="button" onClick=${() => setMade(null)}>Done</button></div>`}
    ${doc?.items?.length > 0 ? html`<div class="table-box" tabindex="0" role="region" aria-label="tokens"><table class="list"><thead><tr><th scope="col">Name</th><th scope="col">Scopes</th><th scope="col">Created</th><th scope="col">Used</th><th scope="col">Expires</th><th scope="col"><span class="sr">Revoke</span></th></tr></thead><tbody>
      ${doc.items.map((t) => html`<tr key=${t.id}><td>${oneLine(t.name)}</td><td>${(t.scopes || []).join(', ')}</td><td><${Ago} at=${t.created_at} />${t.by && html` <span class="muted">by ${oneLine(t.by)}</span>`}</td><td>${t.used_at ? html`<${Ago} at=${t.used_at} />` : html`<span class="muted">never</span>`}</td><td>${t.expires_at ? full(t.expires_at) : html`<span class="muted">never</span>`}</td>
        <td class="right"><button type="button" onClick=${() => take(t)}>Revoke</button></td></tr>`)}</tbody></table></div>` : doc && html`<p class="muted">No tokens.</p>`}
    <form class="filters" onSubmit=${make}><label class="field"><span>New token's name</span><input type="text" required maxlength="100" value=${name} onInput=${(e) => setName(e.target.value)} /></label>
      <fieldset class="checks"><legend>Scopes</legend>${scopes.map((s) => html`<label class="check"><input type="checkbox" checked=${want.includes(s)} onChange=${(e) => setWant(e.target.checked ? [...want, s] : want.filter((x) => x !== s))} /> ${s} <span class="muted">${says[s]}</span></label>`)}</fieldset>
      <button type="submit" class="primary" disabled=${!name.trim() || !want.length}>Create</button></form>
    ${taking && html`<${Confirm} title=${`Revoke ${oneLine(taking.name)}?`} verb="Revoke" danger=${true} onYes=${() => revoke(taking)} onClose=${() => take(null)}><p>Programs that use it can no longer connect.</p></${Confirm}>`}</section>`;
}

export function Status() {
  const about = useStore(info);
  const serves = useLoad(ready, []);
  const health = useLoad(() => get('/health'), []);
  const doctor = useLoad(() => get('/v1/doctor'), []);
  useEffect(() => { const t = setInterval(() => { if (!document.hidden) { serves.again(); health.again(); } }, 5000); return () => clearInterval(t); }, [serves.again, health.again]);
  const h = health.doc;
  const s = serves.doc;
  const fine = s && /^(ok|ready|serving)$/i.test(s.status || '');
  const store = typeof about?.store === 'object' ? about.store.url : about?.store;
  return html`<div class="screen screen-wide"><div class="screen-head"><h1 id="screen-title" tabindex="-1">Status</h1></div>
    <section class="panel" aria-labelledby="daemon"><h2 id="daemon">Daemon</h2><${Trouble} error=${serves.error} again=${serves.again} />
      <dl class="facts">
        ${s && html`<${Fact} name="serves"><${Badge} kind=${fine ? 'yes' : 'no'}>${oneLine(s.status || 'ready')}</${Badge}></${Fact}>`}
        ${about && html`<${Fact} name="version">${oneLine(about.version)} <span class="muted">${[about.api, about.protocol && 'protocol ' + about.protocol].filter(Boolean).join(', ')}</span></${Fact}><${Fact} name="process"><span class="num">${about.pid}</span></${Fact}>
        ${about.started_at && html`<${Fact} name="since">${full(about.started_at)} <span class="muted"><${Ago} at=${about.started_at} /></span></${Fact}>`}<${Fact} name="store"><span class="mono">${oneLine(store || '')}</span></${Fact}>
        <${Fact} name="you">${oneLine(about.caller?.name)} <span class="muted">via ${oneLine(about.caller?.via)}, may ${(about.caller?.scopes || []).join(', ')}</span></${Fact}>`}
        ${h && html`<${Fact} name="runs"><span class="num">${h.activeRuns}</span></${Fact}><${Fact} name="clients"><span class="num">${h.connectedClients}</span></${Fact}>${h.uptime != null && !about?.started_at && html`<${Fact} name="up">${span(h.uptime * 1000)}</${Fact}>`}`}
      </dl>
      ${s && !fine && html`<${Checks} list=${checksOf(s.checks)} />`}</section>
    ${may('admin') && html`<${Tokens} />`}
    <section class="panel" aria-labelledby="doctor"><div class="panel-head"><h2 id="doctor">Machine and setup ${doctor.doc && html`<${Badge} kind=${doctor.doc.ok ? 'yes' : 'no'}>${doctor.doc.ok ? 'ok' : 'not ok'}</${Badge}>`}</h2><button type="button" onClick=${doctor.again} disabled=${doctor.busy}>Check again</button></div>
      <${Trouble} error=${doctor.error} again=${doctor.again} />${!doctor.doc && !doctor.error && html`<${Waiting} what="Looking" />`}${doctor.doc && html`<${Checks} list=${doctor.doc.checks || []} />`}</section>
  </div>`;
}
