// An approval request: everything that a call would do, and the answers.
import { html, cls, useEffect, useLayoutEffect, useRef, useState } from './dom.js';
import { seen, plain, oneLine, hidesSomething } from './text.js';
import { Diff, changesOf } from './diff.js';
import { Ago, useNow, span, full } from './time.js';
import { Badge, Fact, Fold, Json, Origin } from './parts.js';
import { Answered } from './rows.js';
import { post, get, may, seg } from './api.js';
import { removeAnswered, refresh } from './live.js';
import { sessionPath } from './route.js';
import { planOf, choicesOf, answersOf, Plan, Choices, PlanActions, ChoiceActions } from './userinput.js';
import { formOf, filledOf, Form, FormActions } from './form.js';
import { UnsentAnswer, isTemporary, useUnsentAnswer } from './unsent.js';
import { SaveRule, canSaveRule, showSaved } from './saverule.js';

/** once reports whether the call can be allowed only once. */
const once = (q) => q.reason === 'policy-deny-override' || (q.requests || []).some((r) => r.unsandboxed || r.person);

/** Resource shows one resource that a call would touch, in full. */
function Resource({ q, r }) {
  const input = r.input;
  const changes = changesOf(q.tool, input, r.shown, r.base);
  const command = r.operation === 'command.execute';
  const known = new Set(['command', 'description', ...(changes.length ? ['file_path', 'old_string', 'new_string', 'content', 'edits', 'new_source', 'notebook_path'] : [])]);
  const rest = input && typeof input === 'object' ? Object.fromEntries(Object.entries(input).filter(([k]) => !known.has(k))) : {};
  return html`<div class="resource">
    ${command ? html`<pre class="command">${seen(r.resource)}</pre>`
      : changes.length ? changes.map((c, i) => html`<${Diff} key=${i} path=${i === 0 ? r.resource : ''} note=${c.note} lines=${c.lines} />`)
        : html`<pre class="command">${seen(r.resource)}</pre>${r.shown && html`<pre class="code">${seen(r.shown)}</pre>`}`}
    ${r.address && html`<p class="note-line">at the private address <span class="mono">${seen(r.address)}</span></p>`}
    ${r.named && html`<p class="note-line">named as <span class="mono">${seen(r.named)}</span>, which leads there</p>`}
    ${command && typeof input?.command === 'string' && input.command !== r.resource && html`<p class="note-line">as the model wrote it:</p><pre class="code">${seen(input.command)}</pre>`}
    ${Object.keys(rest).length > 0 && html`<p class="note-line">input:</p><pre class="code">${seen(JSON.stringify(rest, null, 2))}</pre>`}
    ${hidesSomething(r.resource) && html`<p class="warning">The text contains invisible characters. They are marked.</p>`}
    ${r.unsandboxed && html`<p class="warning">It would run outside the sandbox.</p>`}
  </div>`;
}

/** What shows a whole request in a box that scrolls. It reports when all of it was visible. */
function What({ q, onRead }) {
  const box = useRef(null);
  const end = useRef(null);
  const [long, setLong] = useState(false);
  const [whole, setWhole] = useState(false);
  useLayoutEffect(() => {
    const fits = box.current.scrollHeight <= box.current.clientHeight + 4;
    setLong(!fits);
    if (fits) onRead();
  }, []);
  const scrolled = () => {
    const b = box.current;
    if (b.scrollHeight - b.scrollTop - b.clientHeight < 8) onRead();
  };
  const expand = () => { setWhole(true); onRead(); };
  return html`<div>
    <div class=${cls('what', long && !whole && 'what-long', whole && 'what-whole')} ref=${box} onScroll=${scrolled} tabindex=${long && !whole ? 0 : undefined}
      role="region" aria-label="what the call would do">
      ${planOf(q) !== undefined ? html`<${Plan} text=${planOf(q)} />` : (q.requests || []).map((r, i) => html`<${Resource} key=${i} q=${q} r=${r} />`)}<span ref=${end}></span>
    </div>
    ${long && !whole && html`<button type="button" class="link more" onClick=${expand}>Show all of it</button>`}
  </div>`;
}

/** Expiry counts down to the automatic denial. */
function Expiry({ at }) {
  const now = useNow();
  const left = new Date(at) - now;
  return html`<span class=${cls('num', left < 60000 && 'soon')} title=${full(at)}>${left > 0 ? `denied automatically in ${span(left)}` : 'timed out'}</span>`;
}

const verbs = { allow: 'Allow once', deny: 'Deny' };

/** Scope is the form that chooses the scope of a decision for the session. */
function Scope({ q, ready, busy, decide, onClose }) {
  const offered = q.scopes || [];
  const [choice, setChoice] = useState(0);
  const [rule, setRule] = useState(offered[0]?.rule || '');
  const first = useRef(null);
  useEffect(() => { first.current?.focus(); }, []);
  const own = choice === offered.length;
  const pick = (i) => { setChoice(i); if (i < offered.length) setRule(offered[i].rule || ''); };
  const scope = own ? rule.trim() : rule.trim() || undefined;
  const wrong = (own && !scope) || busy || !ready;
  const name = 'scope-' + q.id;
  return html`<fieldset class="scope" onKeyDown=${(e) => { if (e.key === 'Escape') { e.stopPropagation(); onClose(); } }}>
    <legend>For this session, with the scope</legend>
    ${offered.map((s, i) => html`<label key=${i} class="choice"><input type="radio" name=${name} checked=${choice === i} ref=${i === 0 ? first : null} onChange=${() => pick(i)} />
      <span>${seen(s.text)} ${s.rule && html`<code>${seen(s.rule)}</code>`}</span></label>`)}
    <label class="choice"><input type="radio" name=${name} checked=${own} onChange=${() => pick(offered.length)} ref=${offered.length === 0 ? first : null} /><span>your own rule</span></label>
    ${(own || offered[choice]?.rule) && html`<label class="field"><span>Rule</span>
      <input type="text" class="mono" value=${rule} spellcheck=${false} autocomplete="off" maxlength="4096" onInput=${(e) => setRule(e.target.value)} placeholder="Bash(npm run build:*)" /></label>
      ${hidesSomething(rule) && html`<p class="warning">The rule contains invisible characters: ${plain(rule)}</p>`}`}
    <div class="actions">
      <button type="button" class="allow" disabled=${wrong} onClick=${() => decide({ decision: 'allow-session', scope })}>Allow for this session</button>
      <button type="button" class="deny" disabled=${wrong} onClick=${() => decide({ decision: 'deny-session', scope })}>Deny for this session</button>
      <button type="button" onClick=${onClose}>Cancel</button>
    </div></fieldset>`;
}

function Reason({ ready, busy, decide, onClose }) {
  const [text, set] = useState('');
  const ref = useRef(null);
  useEffect(() => { ref.current?.focus(); }, []);
  const send = (stop) => decide({ decision: 'deny', message: text.trim() || undefined, stop: stop || undefined });
  return html`<div class="scope" onKeyDown=${(e) => { if (e.key === 'Escape') { e.stopPropagation(); onClose(); } }}>
    <label class="field"><span>Message for the model</span>
      <textarea rows="2" ref=${ref} maxlength="4000" value=${text} onInput=${(e) => set(e.target.value)}
        onKeyDown=${(e) => { if (e.key === 'Enter' && (e.ctrlKey || e.metaKey) && ready && !busy) send(); }}></textarea></label>
    <div class="actions"><button type="button" class="deny" disabled=${busy || !ready} onClick=${() => send()}>Deny</button>
      <button type="button" class="deny" disabled=${busy || !ready} onClick=${() => send(true)}>Deny and stop</button>
      <button type="button" onClick=${onClose}>Cancel</button></div></div>`;
}

/**
 * Approval shows an approval request. props: q; gone ({answer} if it was answered elsewhere); armed()
 * (false just after the list has moved); selected, onSelect; keys (a ref that gets the
 * keyboard actions); plainTitle omits the session's name.
 */
export function Approval({ q, gone, armed = () => true, selected, onSelect, keys, within, onDone }) {
  const [read, setRead] = useState(false);
  const [panel, setPanel] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  const [lost, setLost] = useState(null);
  const [inputs, setInputs] = useState({});
  const [goOn, setGoOn] = useState(true);
  const allowed = may('approve');
  const interrupted = q.run === 'interrupted'; // an answer alone does not start the run
  const plan = planOf(q);
  const choices = choicesOf(q);
  const form = formOf(q);
  const answers = choices ? answersOf(choices, inputs) : form ? filledOf(form, inputs) : null;
  const own = !!choices || !!form; // the whole request is visible as a form
  const ready = (read || own) && allowed;
  const away = lost || gone;
  const [pending, setPending] = useUnsentAnswer((answer) => send(answer), !busy && !away);

  const decide = async (answer) => {
    if (busy || away || !armed()) return;
    if (answer.decision === 'allow' && own && !answer.input) {
      if (!answers) {
        setError({ message: form ? 'fill in the required fields first' : 'choose an answer to each question first' });
        return;
      }
      answer = { ...answer, input: answers };
    }
    if (!ready) {
      setError({ message: allowed ? 'read the whole request first' : 'your token may read, but not answer' });
      return;
    }
    send(answer);
  };
  const send = async (answer) => {
    setBusy(true);
    setError(null);
    try {
      const doc = await post(`/v1/approvals/${seg(q.id)}/decision`, {
        ...answer, digest: q.digest, continue: (interrupted && goOn && may('run') && answer.decision.startsWith('allow')) || undefined,
      });
      setPending(null);
      showSaved(doc?.kept);
      onDone?.(q, doc);
      removeAnswered(q.id);
    } catch (e) {
      const winner = e.doc?.winner;
      setPending(isTemporary(e) ? { answer, error: e } : null);
      if (isTemporary(e)) return setBusy(false);
      if (e.status === 409 && winner) {
        setLost(winner);
        setTimeout(refresh, 4000);
      } else if (e.status === 409 || e.status === 404) {
        const now = await get(`/v1/approvals/${seg(q.id)}`).catch(() => null);
        if (now && now.state !== 'pending') setLost(now.answer || { decision: now.state });
        else setError(e);
        refresh();
      } else setError(e);
    }
    setBusy(false);
  };
  if (keys) keys.current = { decide, open: (p) => { if (!away && allowed) setPanel(p); }, once: once(q), canSaveRule: canSaveRule(q) };
  const open = (p) => setPanel(panel === p ? '' : p);
  const key = (k) => keys && html` <kbd>${k}</kbd>`;
  const input = q.requests?.[0]?.input;
  const title = oneLine(q.title || q.session_id);
  const run = q.run_id || q.session_id;
  return html`<article class=${cls('question', selected && 'selected', away && 'away')} tabindex="-1" id=${'q-' + q.id} aria-labelledby=${'qt-' + q.id}
    onFocusIn=${onSelect} onClick=${onSelect}>
    <header>
      <h3 id=${'qt-' + q.id}><span class="tool">${oneLine(q.tool)}</span> <span class="muted">${q.requests?.map((r) => r.operation).filter((v, i, l) => v && l.indexOf(v) === i).join(', ')}</span>
        ${q.reason === 'policy-deny-override' && html` <${Badge} kind="ask">overrides a deny</${Badge}>`}</h3>
      <div class="when muted num"><${Ago} at=${q.asked_at} exact=${true} />${q.expires_at && !away && html` · <${Expiry} at=${q.expires_at} />`}</div>
    </header>
    ${away ? html`<p class="mono clip">${oneLine(q.requests?.[0]?.resource)}</p><p class="answered" role="status"><${Answered} answer=${away} /></p>` : html`
    ${input?.description && html`<p class="says">The model says: <q>${oneLine(input.description)}</q></p>`}
    ${form ? html`<${Form} id=${q.id} form=${form} inputs=${inputs} setInputs=${setInputs} disabled=${!allowed || busy} />`
    : choices ? html`<${Choices} id=${q.id} list=${choices} inputs=${inputs} setInputs=${setInputs} disabled=${!allowed || busy} />` : html`<${What} q=${q} onRead=${() => setRead(true)} />`}
    <dl class="facts">
      ${!within && html`<${Fact} name="session"><a href=${sessionPath(run)}>${title}</a>${q.agent && html` <span class="muted">agent ${oneLine(q.agent)}</span>`}</${Fact}>`}
      ${within && q.agent && html`<${Fact} name="agent">${oneLine(q.agent)}</${Fact}>`}
      <${Fact} name="folder"><span class="mono">${seen(q.requests?.[0]?.cwd || q.cwd || '')}</span></${Fact}>
      <${Fact} name="why">${seen(q.why)}${q.rule && !(q.why || '').includes(`${q.rule.file}:${q.rule.line}`) && html`<div><${Origin} rule=${q.rule} /></div>`}</${Fact}>
      ${plan === undefined && !own && q.sandbox && html`<${Fact} name="sandbox">${q.sandbox === 'none' ? html`<span class="warn-text">none: the command would run without confinement</span>` : seen(q.sandbox)}</${Fact}>`}
      <${Fact} name="mode">${oneLine(q.mode)}</${Fact}>
    </dl>
    ${error && html`<p class="problem" role="alert">${error.message}${error.hint && html` <span class="hint">hint: <code>${error.hint}</code></span>`}</p>`}
    ${pending && html`<${UnsentAnswer} pending=${pending} busy=${busy} send=${send} drop=${() => setPending(null)} />`}
    ${interrupted && html`<p class="interrupted" role="note">The run was interrupted. Your answer is stored and takes effect when the run is resumed.
      ${allowed && may('run') && html` <label><input type="checkbox" checked=${goOn} disabled=${busy} onChange=${(e) => setGoOn(e.target.checked)} /> Resume the run if the call is allowed</label>`}</p>`}
    <div class="actions" role="group" aria-label="answer">
      ${plan !== undefined ? html`<${PlanActions} ready=${ready} busy=${busy} decide=${decide} open=${open} panel=${panel} keyOf=${key} />`
    : form ? html`<${FormActions} ready=${ready} busy=${busy} filled=${answers} decide=${decide} keyOf=${key} />`
    : choices ? html`<${ChoiceActions} ready=${ready} busy=${busy} answers=${answers} decide=${decide} open=${open} panel=${panel} keyOf=${key} />` : html`
      <button type="button" class="allow" disabled=${!ready || busy} onClick=${() => decide({ decision: 'allow' })}>${verbs.allow}${key('y')}</button>
      ${!once(q) && html`<button type="button" disabled=${!ready || busy} aria-expanded=${panel === 'scope'} onClick=${() => open('scope')}>For this session…${key('a')}</button>`}
      ${canSaveRule(q) && html`<button type="button" disabled=${!ready || busy} aria-expanded=${panel === 'always'} onClick=${() => open('always')}>Always…${key('p')}</button>`}
      <button type="button" class="deny" disabled=${!ready || busy} onClick=${() => decide({ decision: 'deny' })}>${verbs.deny}${key('n')}</button>
      <button type="button" disabled=${!ready || busy} aria-expanded=${panel === 'reason'} onClick=${() => open('reason')}>Deny with a reason…${key('m')}</button>
      <button type="button" disabled=${!ready || busy} onClick=${() => decide({ decision: 'deny', stop: true })}>Deny and stop${key('s')}</button>`}
      ${!allowed ? html`<span class="muted">You can read this, but not answer it.</span>` : !read && !own && html`<span class="muted">To answer, scroll to the end or show all of it.</span>`}
    </div>
    ${panel === 'scope' && html`<${Scope} q=${q} ready=${ready} busy=${busy} decide=${decide} onClose=${() => setPanel('')} />`}
    ${panel === 'always' && html`<${SaveRule} q=${q} ready=${ready} busy=${busy} decide=${decide} onClose=${() => setPanel('')} />`}
    ${panel === 'reason' && html`<${Reason} ready=${ready} busy=${busy} decide=${decide} onClose=${() => setPanel('')} />`}
    ${q.requests?.length > 0 && html`<div class="raw-fold"><${Fold} summary="As JSON"><${Json} value=${q} label="question" /></${Fold}></div>`}`}
  </article>`;
}
