// Requests that only a user can answer: plans, and questions of the model.
import { accessible, context, control, enter, equal, check, frames, run, settle, shot, sideways } from './kit.mjs';

const ask = (id, tool, input, shown) => control('ask', {
  id, session_id: 'build', use_id: 'u-' + id, tool, mode: 'plan', why: 'only a person decides about it, each time',
  requests: [{ tool, operation: '', resource: tool, input, shown, person: true }],
});
const form = (id, requestedSchema, content = {}, message = 'Which seat shall it be?') => control('ask', {
  id, session_id: 'build', use_id: 'u-' + id, tool: 'mcp__asker__reserve', mode: 'default', why: 'only a person decides about it, each time', sandbox: '',
  requests: [{ tool: 'mcp__asker__reserve', operation: '', resource: 'answer asker', shown: 'as text', person: true, form: true, input: { server: 'asker', message, requestedSchema, content } }],
});
const card = (page, id) => page.locator('#q-' + id);
const last = async () => JSON.parse(((await control('calls')) || []).filter((c) => c.includes('/decision')).at(-1).replace(/^[^{]*/, ''));

const plan = '# Move the sessions\n\n1. **Write** `store.go`\n2. Run the tests\n\n- [x](javascript:owned=1) <script>owned=1</script>\n';
const questions = [
  { question: 'Which store shall it be?', header: 'Store', options: [{ label: 'SQLite', description: 'one file' }, { label: 'Postgres', description: 'a server', preview: 'postgres://db/main' }] },
  { question: 'On which days?', header: 'Days', multiSelect: true, options: [{ label: 'Monday', description: '' }, { label: 'Friday', description: 'the last one' }] },
];

const c = await context();
const page = await enter(c);

async function look(name) {
  for (const [view, colorScheme, size] of [['light', 'light', { width: 1280, height: 860 }], ['narrow', 'dark', { width: 390, height: 844 }]]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(size);
    await frames(page);
    await accessible(page, `${name} ${view}`);
    await sideways(page, `${name} ${view}`);
    await shot(page, `${name}-${view}`, { fullPage: true });
  }
  await page.setViewportSize({ width: 1280, height: 860 });
}

await run({
  'a plan is read as a page': async () => {
    await ask('p1', 'ExitPlanMode', { plan }, plan);
    const q = card(page, 'p1');
    await q.getByText('Move the sessions', { exact: true }).waitFor();
    check(!(await page.evaluate(() => window.owned)), 'the plan ran something');
    check(await q.getByRole('button', { name: 'For this session' }).count() === 0, 'a plan is for once');
    await look('plan');
    await settle(page);
    await q.getByRole('button', { name: 'Allow, edit files without asking' }).click();
    await q.waitFor({ state: 'detached' });
    equal(await last(), { decision: 'allow', input: { mode: 'acceptEdits' }, digest: 'digest-p1' }, 'the answer');
  },
  'a plan is sent back': async () => {
    await ask('p2', 'ExitPlanMode', { plan }, plan);
    const q = card(page, 'p2');
    await settle(page);
    await q.getByRole('button', { name: 'Keep planning, because' }).click();
    await q.getByRole('textbox').fill('the docs, too');
    await q.getByRole('button', { name: 'Deny', exact: true }).click();
    await q.waitFor({ state: 'detached' });
    equal(await last(), { decision: 'deny', message: 'the docs, too', digest: 'digest-p2' }, 'the answer');
  },
  'questions have answers': async () => {
    await ask('a1', 'AskUserQuestion', { questions }, 'as text');
    const q = card(page, 'a1');
    const send = q.getByRole('button', { name: /^Answer/ });
    await send.waitFor();
    await settle(page);
    check(await send.isDisabled(), 'nothing is chosen yet');
    await q.getByRole('radio', { name: /your own answer/ }).check();
    await q.getByLabel('Your answer').fill('a file of mine');
    await q.getByRole('checkbox', { name: /Monday/ }).check();
    await q.getByRole('checkbox', { name: /Friday/ }).check();
    await look('ask');
    await settle(page);
    await send.click();
    await q.waitFor({ state: 'detached' });
    equal(await last(), { decision: 'allow', input: { answers: { 'Which store shall it be?': 'a file of mine', 'On which days?': ['Monday', 'Friday'] } }, digest: 'digest-a1' }, 'the answer');
  },
  'hostile and long texts stay in their box': async () => {
    const word = 'w'.repeat(400);
    const bad = '<img src=x onerror="owned=1"><script>owned=1</script>';
    await ask('a3', 'AskUserQuestion', { questions: [
      { question: `${bad} ${word}?`, header: `<b>${'header '.repeat(5)}</b>`, options: [{ label: `${word} \u202e`, description: word, preview: `${bad}\n${word}` }, { label: 'constructor', description: '' }] },
      { question: '__proto__', header: 'Name', options: [{ label: 'toString', description: '' }, { label: 'b', description: '' }] },
    ] }, 'as text');
    const q = card(page, 'a3');
    await q.getByText('\\u202e').first().waitFor();
    await look('ask-long');
    for (const width of [1280, 360]) {
      await page.setViewportSize({ width, height: 860 });
      await frames(page);
      const out = await q.evaluate((e) => [...e.querySelectorAll('fieldset *')].filter((x) => x.getBoundingClientRect().right > e.getBoundingClientRect().right).map((x) => x.outerHTML.slice(0, 80)));
      equal(out, [], `outside of the card at ${width}`);
    }
    check(!(await page.evaluate(() => window.owned)), 'a question ran something');
    await page.setViewportSize({ width: 1280, height: 860 });
    await q.getByRole('radio', { name: /constructor/ }).check();
    await q.getByRole('radio', { name: /toString/ }).check();
    await settle(page);
    await q.getByRole('button', { name: /^Answer/ }).click();
    await q.waitFor({ state: 'detached' });
    const answers = (await last()).input.answers;
    equal(Object.values(answers), ['constructor', 'toString'], 'the answers');
  },
  'with the keyboard': async () => {
    await ask('a2', 'AskUserQuestion', { questions: [questions[0]] }, 'as text');
    const q = card(page, 'a2');
    await settle(page);
    await q.getByRole('heading').click(); // this one is selected
    await page.keyboard.press('y');
    await q.getByText('choose an answer to each question first').waitFor();
    await q.getByRole('radio', { name: /Postgres/ }).check();
    await q.getByRole('button', { name: /^Answer/ }).click();
    await q.waitFor({ state: 'detached' });
    equal(await last(), { decision: 'allow', input: { answers: { 'Which store shall it be?': 'Postgres' } }, digest: 'digest-a2' }, 'the answer');
  },
  'a server form is filled in': async () => {
    await form('f1', {
      type: 'object', required: ['seat', 'days', 'rows', 'meal'], properties: {
        seat: { type: 'string', title: 'Your seat', description: 'row and letter, as on the plan', pattern: '^[0-9]+[A-F]$' },
        rows: { type: 'integer', minimum: 1, maximum: 9, default: 2 }, price: { type: 'number' }, quiet: { type: 'boolean', title: 'In the quiet part' },
        meal: { type: 'string', enum: ['a', 'b'], enumNames: ['Apple', 'Bread'] }, class: { type: 'string', oneOf: [{ const: 'x', title: 'First' }, { const: 'y', title: 'Second' }] },
        days: { type: 'array', items: { anyOf: [{ const: 'mo', title: 'Monday' }, { const: 'tu', title: 'Tuesday' }] } },
        mail: { type: 'string', format: 'email' }, on: { type: 'string', format: 'date', title: 'Flight date' }, at: { type: 'string', format: 'date-time', title: 'Departure' }, note: { type: 'string' },
      },
    }, { rows: 2 });
    const q = card(page, 'f1');
    const send = q.getByRole('button', { name: /^Answer/ });
    await send.waitFor();
    await settle(page);
    check(await send.isDisabled(), 'nothing is filled in yet');
    equal(await q.getByLabel('rows').inputValue(), '2', 'what is proposed');
    await q.getByLabel('Your seat').fill('12B');
    await q.getByRole('checkbox', { name: 'Tuesday' }).check();
    check(await send.isDisabled(), 'a field is missing');
    await q.getByRole('radio', { name: 'Bread' }).check();
    await q.getByRole('group', { name: /In the quiet part/ }).getByRole('radio', { name: 'no', exact: true }).check();
    await q.getByRole('group', { name: /^class/ }).getByRole('radio', { name: 'Second' }).check();
    await q.getByLabel('price').fill('9.5');
    await q.getByLabel('mail').fill('a@example.com');
    await q.getByLabel('Flight date').fill('2026-01-31');
    await q.getByLabel('Departure').fill('2026-01-31T12:30');
    await look('form');
    await settle(page);
    await send.click();
    await q.waitFor({ state: 'detached' });
    const at = await page.evaluate(() => new Date('2026-01-31T12:30').toISOString());
    equal(await last(), { decision: 'allow', input: { content: { at, class: 'y', days: ['tu'], mail: 'a@example.com', meal: 'b', on: '2026-01-31', price: 9.5, quiet: false, rows: 2, seat: '12B' } }, digest: 'digest-f1' }, 'the answer');
  },
  'a form with proposed values, with the keyboard': async () => {
    await form('f2', { type: 'object', required: ['seat'], properties: { seat: { type: 'string', default: '1A' }, __proto__x: { type: 'string' } } }, { seat: '1A' });
    const q = card(page, 'f2');
    await settle(page);
    await q.getByRole('heading').click();
    await page.keyboard.press('y');
    await q.waitFor({ state: 'detached' });
    equal((await last()).input, { content: { seat: '1A' } }, 'the answer');
  },
  'a form is declined, and hostile texts stay in their box': async () => {
    const bad = '<img src=x onerror="owned=1"><script>owned=1</script>';
    const word = 'w'.repeat(400);
    await form('f3', JSON.parse(`{"type":"object","required":["__proto__"],"properties":{"__proto__":{"type":"string","title":${JSON.stringify(bad + ' \u202e' + word)},"description":"${word}"},"c":{"type":"string","enum":["${word}","constructor"]}}}`), {}, bad);
    const q = card(page, 'f3');
    await q.getByText('\\u202e').first().waitFor();
    await look('form-long');
    check(!(await page.evaluate(() => window.owned)), 'a form ran something');
    await settle(page);
    await q.getByRole('textbox').fill('mine');
    await q.getByRole('radio', { name: 'constructor' }).check();
    await q.getByRole('button', { name: /^Answer/ }).click();
    await q.waitFor({ state: 'detached' });
    equal(JSON.stringify((await last()).input), '{"content":{"__proto__":"mine","c":"constructor"}}', 'the answer');
    await form('f4', { type: 'object', required: ['seat'], properties: { seat: { type: 'string' } } });
    await settle(page);
    await card(page, 'f4').getByRole('button', { name: /^No answer/ }).first().click();
    await card(page, 'f4').waitFor({ state: 'detached' });
    equal(await last(), { decision: 'deny', digest: 'digest-f4' }, 'the answer');
  },
});
