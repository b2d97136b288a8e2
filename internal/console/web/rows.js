// The rows of a transcript.
import { html, cls, useState } from './dom.js';
import { seen, plain, oneLine } from './text.js';
import { ansi, bare } from './ansi.js';
import { markdown } from './markdown.js';
import { Diff, changesOf } from './diff.js';
import { stateOf, gist } from './transcript.js';
import { At, formatDuration, full } from './time.js';
import { Badge, Fact, Json, Origin, Verdict } from './parts.js';
import { sessionPath } from './route.js';

const callStates = {
  asks: ['ask', 'asks'], running: ['run', 'running'], allowed: ['yes', 'allowed'], denied: ['no', 'denied'],
  done: ['yes', 'done'], failed: ['no', 'failed'], unknown: ['ask', 'outcome unknown'], called: ['plain', 'called'],
};

const limit = 14; // lines of a folded row

/** Output shows a tool's output: all of it, or its first lines. */
function Output({ text, all, error }) {
  const [whole, set] = useState(false);
  const lines = text.split('\n');
  const most = all ? 400 : limit;
  const cut = !whole && (lines.length > most || text.length > 60000);
  const part = cut ? lines.slice(0, most).join('\n').slice(0, 60000) : text;
  return html`<div class="output-box"><pre class=${cls('output', error && 'output-error')} tabindex="0" role="region" aria-label="output">${ansi(part)}</pre>
    ${cut && html`<button type="button" class="link more" onClick=${() => set(true)}>Show all ${lines.length.toLocaleString('en')} lines</button>`}</div>`;
}

function Changes({ list, all }) {
  const [whole, set] = useState(all);
  const n = list.reduce((sum, c) => sum + c.lines.length, 0);
  let left = whole ? Infinity : limit;
  return html`<div>${list.map((c, i) => {
    const lines = c.lines.slice(0, Math.max(0, left));
    left -= c.lines.length;
    return lines.length > 0 && html`<${Diff} key=${i} path=${i === 0 || list[i - 1].path !== c.path ? c.path : ''} note=${c.note} lines=${lines} />`;
  })}${!whole && n > limit && html`<button type="button" class="link more" onClick=${() => set(true)}>Show all ${n} lines</button>`}</div>`;
}

/** who describes by whom and how an approval was answered. */
export function who(a) {
  const via = a.via && a.via !== a.by ? ` via ${oneLine(a.via)}` : '';
  return (a.by ? `by ${oneLine(a.by)}` : '') + via;
}

const decided = {
  allow: 'allowed once', deny: 'denied', 'allow-session': 'allowed for the session', 'deny-session': 'denied for the session',
};

/** Answered shows the decision, by whom and when. */
export const Answered = ({ answer }) => html`<span>${decided[answer.decision] || answer.decision} ${who(answer)}
  ${answer.at && html` <span class="muted">at <${At} at=${answer.at} /></span>`}
  ${answer.scope && html` <code>${seen(answer.scope)}</code>`}${answer.always && html` <span class="muted">${answer.always === 'user' ? 'and saved' : 'and saved for this project'}</span>`}
  ${answer.message && html` <q>${seen(answer.message)}</q>`}${answer.stop && html` <span class="muted">and the turn ends</span>`}</span>`;

// why returns the shortest reason why a call ran or not.
function why(r) {
  const d = r.decision;
  if (r.answer) return html`<${Answered} answer=${r.answer} />`;
  if (r.question) return html`<span>asks: ${oneLine(r.question.why)}</span>`;
  if (!d) return '';
  if (d.rule?.rule) return html`<span>${d.effect === 'deny' ? 'denied' : 'allowed'} by rule <code>${oneLine(d.rule.rule)}</code></span>`;
  return html`<span>${d.effect === 'deny' ? 'denied' : 'allowed'} by ${oneLine(d.by)}</span>`;
}

function CallFacts({ r }) {
  const d = r.decision;
  const q = r.question;
  return html`<dl class="facts">
    ${d && html`<${Fact} name="decision"><${Verdict} effect=${d.effect} /> by ${oneLine(d.by)}${d.mode && html` <span class="muted">in mode ${d.mode}</span>`}
      ${d.reason && html`<div>${seen(d.reason)}</div>`}<div><${Origin} rule=${d.rule} /></div></${Fact}>`}
    ${q && html`<${Fact} name="asked">${seen(q.why)} <span class="muted">at <${At} at=${q.asked_at} /></span></${Fact}>`}
    ${r.answer && html`<${Fact} name="answer"><${Answered} answer=${r.answer} /></${Fact}>`}
    ${(d?.touches || []).map((t) => html`<${Fact} name=${t.operation || 'touches'}><span class="mono">${seen(t.resource)}</span></${Fact}>`)}
    ${(d?.sandbox || q?.sandbox) && html`<${Fact} name="sandbox">${seen(d?.sandbox || q.sandbox)}</${Fact}>`}
    ${r.finished && html`<${Fact} name="took">${formatDuration(r.finished.ms)}${r.finished.exit_code != null && `, exit code ${r.finished.exit_code}`}</${Fact}>`}
    ${(r.finished?.changes || []).map((c) => html`<${Fact} name="changed"><span class="mono">${seen(c.path)}</span></${Fact}>`)}
    ${r.hooks.flatMap((h) => h.hooks.map((k) => html`<${Fact} name=${'hook ' + h.event}>${seen(k.name || k.type)} ${k.effect && html`<${Badge} kind="plain">${k.effect}</${Badge}>`}
      <span class="muted">${formatDuration(k.ms)}</span>${(k.reason || k.error) && html`<div>${seen(k.reason || k.error)}</div>`}</${Fact}>`))}
    ${d?.said?.length > 0 && html`<${Fact} name="chain"><ol class="said">${d.said.map((s) => html`<li><span class="mono">${oneLine(s.policy)}</span> <${Verdict} effect=${s.effect} />
      ${s.reason && html` <span class="muted">${seen(s.reason)}</span>`}</li>`)}</ol></${Fact}>`}
  </dl>`;
}

function Call({ r, open, toggle }) {
  const state = stateOf(r);
  const [kind, word] = callStates[state];
  const tool = r.tool || r.question?.tool || 'tool';
  const changes = changesOf(tool, r.input, r.question?.requests?.[0]?.shown, r.question?.requests?.[0]?.base);
  const command = typeof r.input?.command === 'string' ? r.input.command : '';
  const text = r.result?.text || '';
  const about = gist(tool, r.input);
  return html`<div class=${cls('call', 'call-' + state)}>
    <button type="button" class="call-head" aria-expanded=${open} onClick=${toggle}>
      <span class="chevron" aria-hidden="true"></span>
      <span class="tool">${oneLine(tool)}</span>
      <span class="about mono">${oneLine(about) || html`<span class="muted">no input</span>`}</span>
      <span class="call-end">${r.finished && html`<span class="num muted">${formatDuration(r.finished.ms)}</span>`}
      ${r.finished?.exit_code ? html`<span class="num muted">exit ${r.finished.exit_code}</span>` : ''}
      <${Badge} kind=${kind}>${word}</${Badge}></span>
    </button>
    <div class="call-why muted">${why(r)}</div>
    ${open ? html`<div class="call-body">
      ${command && html`<pre class="code command" tabindex="0" role="region" aria-label="command">${seen(command)}</pre>`}
      ${changes.length > 0 && html`<${Changes} list=${changes} all=${true} />`}
      ${!command && !changes.length && r.input !== undefined && html`<${Json} value=${r.input} label="input" />`}
      <${CallFacts} r=${r} />
      ${text && html`<${Output} text=${text} all=${true} error=${r.result.error} />`}
      ${command && Object.keys(r.input).length > 1 && html`<${Json} value=${r.input} label="input" />`}
    </div>` : html`<div class="call-body">
      ${changes.length > 0 && state !== 'denied' && html`<${Changes} list=${changes} />`}
      ${text && (state === 'failed' || (command && state === 'done')) && html`<${Output} text=${text} error=${r.result.error} />`}
    </div>`}
  </div>`;
}

function Policy({ r }) {
  const c = r.change;
  let what = 'policy changed';
  if (c.mode) what = html`mode is now <strong>${oneLine(c.mode)}</strong>`;
  else if (c.grant) what = html`${c.grant.effect === 'deny' ? 'denied' : 'allowed'} for the session: <code>${oneLine(c.grant.scope || `${c.grant.tool} ${c.grant.resource || ''}`)}</code>`;
  else if (c.revoke) what = html`a grant was taken back <span class="mono muted">${oneLine(c.revoke)}</span>`;
  else if (c.ended) what = 'the run ended, and its grants with it';
  else if (c.patch) what = html`policy patch for ${oneLine(c.patch.tool || 'all tools')}, ${oneLine(c.patch.mode)}: ${['allow', 'deny'].map((k) => c.patch[k]?.length > 0 && html`${k} <code>${oneLine(c.patch[k].join(', '))}</code> `)}${c.patch.default && `default ${c.patch.default}`}`;
  return html`<div class="mark"><span>${what}</span> <span class="muted">${who(c.grant?.by ? c.grant : c)}</span></div>`;
}

function Run({ r }) {
  const e = r.run;
  const name = e.step_name || e.step;
  const words = {
    started: `run ${e.resumed ? 'resumed' : e.segment > 1 ? 'continued' : 'started'}${e.strategy?.name ? ': ' + e.strategy.name : ''}`,
    step_started: `step ${name || ''} begins${e.agent ? ': ' + e.agent : ''}`, step_completed: `step ${name || ''} done${e.agent ? ': ' + e.agent : ''}`,
    step_failed: `step ${name || ''} failed`, input_asked: `${e.agent || 'the run'} asks for input`, input_given: 'input given', steered: 'steered',
    opened: `session${e.agent ? ' of ' + e.agent : ''} opened`,
    completed: 'run completed', failed: 'run failed', cancelled: 'run stopped', interrupted: 'run interrupted', status: e.status, relayed: 'relayed',
  };
  const bad = e.event === 'failed' || e.event === 'step_failed';
  const says = ['input_asked', 'input_given', 'steered', 'failed', 'step_failed'].includes(e.event);
  return html`<div class=${cls('mark', /^(started|completed|failed|cancelled|interrupted)$/.test(e.event) && 'mark-strong', bad && 'mark-bad')}>
    <span>${oneLine(words[e.event] || e.event)}</span> <span class="muted">${who(e)}</span>
    ${e.message && html`<div class="mark-text">${e.code && html`<code>${e.code}</code> `}${seen(e.message)}</div>`}
    ${(e.event === 'opened' && e.notices || []).map((n) => html`<div class="mark-text">${seen(n)}</div>`)}
    ${says && e.text && html`<div class="mark-text">${seen(e.text)}</div>`}
    ${says && (e.images || []).map((i) => html`<div class="mark-text">${oneLine(`[image ${i.name || ''}]`)}</div>`)}</div>`;
}

const closedWords = { completed: 'turn completed', max_turns: 'stopped: turn limit reached', budget: 'stopped: budget reached', interrupted: 'turn interrupted', failed: 'turn failed' };

/** To names the agent that a text is for, if there are several. */
const To = ({ r, word = 'to' }) => r.session && r.agent && html` <span class="muted">${word} ${oneLine(r.agent)}</span>`;

const bodies = {
  user: ({ r }) => html`<div class="said-by">${r.queued ? 'user, queued' : 'user'}<${To} r=${r} /></div><div class="prose user">${seen(r.text)}</div>`,
  assistant: ({ r }) => html`<div class="said-by">${oneLine(r.agent || 'assistant')}${r.model && html` <span class="muted">${oneLine(r.model)}</span>`}</div><div class="prose">${markdown(r.text)}</div>`,
  thinking: ({ r, open, toggle }) => html`<button type="button" class="thinking-head" aria-expanded=${open} onClick=${toggle}><span class="chevron" aria-hidden="true"></span>thinking
    ${!open && html`<span class="muted clip">${oneLine(r.text).slice(0, 160)}</span>`}</button>${open && html`<div class="prose thinking">${markdown(r.text)}</div>`}`,
  call: Call,
  note: ({ r }) => html`<div class="said-by">${oneLine(r.role)}<${To} r=${r} /></div><div class="prose note">${seen(r.text)}</div>`,
  opened: ({ r }) => html`<div class="mark mark-strong"><span>${r.opened.base ? html`forked from <a href=${sessionPath(r.opened.base.parent, r.opened.base.seq)}>${oneLine(r.opened.base.parent)}</a> at ${r.opened.base.seq}` : 'session opened'}<${To} r=${r} word="of" /></span>
    <span class="muted">${[r.opened.cwd, r.opened.model, r.opened.user].filter(Boolean).map(oneLine).join(' · ')} · ${full(r.opened.created || r.time)}</span></div>`,
  policy: Policy,
  run: Run,
  mark: ({ r }) => html`<div class="mark"><span>${seen(r.text)}</span> <span class="muted">${who(r)}</span></div>`,
  rewrite: ({ r }) => html`<div class="mark mark-strong"><span>${r.rewrite.reason === 'compaction' ? 'compacted' : 'rewritten: ' + oneLine(r.rewrite.reason)}: the transcript now has ${r.rewrite.messages} messages</span>
    <span class="muted">${who(r.rewrite)}</span>${(r.rewrite.notes || []).map((n) => html`<div class="mark-text">${seen(n)}</div>`)}</div>`,
  closed: ({ r }) => html`<div class=${cls('mark', r.closed.reason === 'failed' && 'mark-bad')}><span>${closedWords[r.closed.reason] || oneLine(r.closed.reason)}</span>
    ${r.closed.cost_usd > 0 && html` <span class="muted num">$${r.closed.cost_usd.toFixed(4)}</span>`}${r.closed.error && html`<div class="mark-text">${seen(r.closed.error)}</div>`}</div>`,
  hook: ({ r }) => html`<div class="mark"><span>hook ${oneLine(r.event)}</span> <span class="muted">${r.hooks.map((h) => oneLine(`${h.name || h.type}${h.effect ? ' ' + h.effect : ''}${h.error ? ': ' + h.error : ''}`)).join(', ') || `${r.quiet} ran and said nothing`}</span></div>`,
  erased: ({ r }) => html`<div class="mark"><span>erased</span> <span class="muted">${oneLine(r.records[0].kind)}</span></div>`,
  other: ({ r }) => html`<div class="mark"><span class="mono">${oneLine(r.records[0].kind)}</span> <span class="muted clip">${oneLine(JSON.stringify(r.records[0].payload)).slice(0, 200)}</span></div>`,
};

/** Row is a row with its number, its time and its actions. */
export function Row({ r, id, open, raw, marked, on }) {
  const Body = bodies[r.type] || bodies.other;
  const fork = on.fork && r.item && r.type !== 'call';
  return html`<div class=${cls('row', 'row-' + r.type, marked && 'row-marked')}>
    <div class="row-side">
      <a class="seq num" href=${sessionPath(id, r.seq)} title=${`link to ${r.seq}, ${full(r.time)}`} aria-label=${`Link to record ${r.seq}`}>${r.seq}</a>
    </div>
    <div class="row-main">
      ${r.agent && r.type === 'call' && html`<div class="said-by">${oneLine(r.agent)}</div>`}
      <${Body} r=${r} open=${open} toggle=${() => on.toggle(r)} />
      ${raw && html`<div class="raw">${r.records.map((e) => html`<${Json} key=${e.seq + (e.id || '')} value=${e} label=${'record ' + e.seq} />`)}</div>`}
    </div>
    <div class="row-tools">
      ${fork && html`<button type="button" class="quiet" onClick=${() => on.fork(r)} title="Fork from here">Fork</button>`}
      <button type="button" class="quiet" aria-pressed=${raw} onClick=${() => on.raw(r)} title="Show the records as JSON">JSON</button>
    </div>
  </div>`;
}

/** Coming shows text that an agent is currently writing. It is not recorded yet. */
export const Coming = ({ agent, now }) => html`<div class="row row-coming">
  <div class="row-side"></div><div class="row-main">
    <div class="said-by">${oneLine(agent || 'assistant')} <span class="provisional">writing</span></div>
    ${now.thinking && !now.text && html`<div class="prose thinking">${seen(now.thinking.slice(-1200))}</div>`}
    ${now.text && html`<div class="prose">${markdown(now.text)}</div>`}
    ${now.tool && html`<div class="mono muted clip">${oneLine(now.tool)} ${plain(bare(now.input)).slice(-200)}</div>`}
  </div></div>`;
