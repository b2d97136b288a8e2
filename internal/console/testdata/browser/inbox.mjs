// Answering: with the mouse, with the keyboard, in two tabs, and when another client was first.
import { accessible, allow, base, check, context, control, enter, equal, run, settle, shot, until } from './kit.mjs';

allow(/40[149]|50[37]|ERR_/);

const command = (id, text, more = {}) => ({
  id, session_id: 'build', use_id: 'u-' + id, tool: 'Bash',
  requests: [{ tool: 'Bash', operation: 'command.execute', resource: text, cwd: '/src/calendar', input: { command: text } }],
  scopes: [{ text: 'exactly this command' }, { rule: 'Bash(npm run build:*)', text: 'every command that begins with "npm run build"' }], ...more,
});
const ask = (id, text, more) => control('ask', command(id, text, more));
const card = (page, id) => page.locator('#q-' + id);
const bodies = async () => ((await control('calls')) || []).filter((c) => c.includes('/decision')).map((c) => JSON.parse(c.slice(c.indexOf('{'))));

const c = await context();
const page = await enter(c);

await run({
  once: async () => {
    await ask('q1', 'make one');
    await card(page, 'q1').getByRole('button', { name: 'Allow once' }).click();
    await card(page, 'q1').waitFor({ state: 'detached' });
    equal(await bodies(), [{ decision: 'allow', digest: 'digest-q1' }], 'the answer');
  },
  'with a scope that is edited': async () => {
    await ask('q2', 'npm run build');
    const q = card(page, 'q2');
    await q.getByRole('button', { name: 'For this session' }).click();
    await q.getByRole('radio', { name: /every command that begins/ }).check();
    const rule = q.getByLabel('Rule', { exact: true });
    equal(await rule.inputValue(), 'Bash(npm run build:*)', 'the offered rule');
    await rule.fill('Bash(npm run build:prod)');
    await settle(page);
    await q.getByRole('button', { name: 'Allow for this session' }).click();
    await q.waitFor({ state: 'detached' });
    equal(await bodies(), [{ decision: 'allow-session', scope: 'Bash(npm run build:prod)', digest: 'digest-q2' }], 'the answer');
  },
  'exactly this, for the session': async () => {
    await ask('q3', 'npm test');
    const q = card(page, 'q3');
    await q.getByRole('button', { name: 'For this session' }).click();
    await settle(page);
    await q.getByRole('button', { name: 'Deny for this session' }).click();
    await q.waitFor({ state: 'detached' });
    equal(await bodies(), [{ decision: 'deny-session', digest: 'digest-q3' }], 'the answer');
  },
  'always, by a rule in a settings file': async () => {
    const always = {
      rules: [{ rule: 'Bash(npm run build)', text: 'exactly this command' }, { rule: 'Bash(npm run build:*)', text: 'every command that begins with "npm run build"' }],
      files: [{ layer: 'local', file: '/src/calendar/.holdfast/settings.local.json' }, { layer: 'project', file: '/src/calendar/.holdfast/settings.json' }, { layer: 'user', file: '/home/ann/.holdfast/settings.json' }],
    };
    await ask('w1', 'npm run build', { always });
    const q = card(page, 'w1');
    await q.waitFor();
    await settle(page);
    await q.focus();
    await page.keyboard.press('p');
    await q.getByText('/src/calendar/.holdfast/settings.local.json').waitFor();
    equal(await q.getByLabel('Rule', { exact: true }).inputValue(), 'Bash(npm run build)', 'the rule that would be written');
    await q.getByRole('radio', { name: /every command that begins/ }).check();
    await settle(page);
    await shot(page, 'always');
    await accessible(page, 'an approval with an always answer');
    await q.getByRole('button', { name: 'Always for me' }).click();
    await q.waitFor({ state: 'detached' });
    equal(await bodies(), [{ decision: 'allow-session', scope: 'Bash(npm run build:*)', always: 'user', digest: 'digest-w1' }], 'the answer');
    const kept = page.locator('.kept');
    await kept.getByText('Bash(npm run build:*) is allowed for you, in every project: /home/ann/.holdfast/settings.json:4').waitFor();
    await shot(page, 'always-kept');
    await kept.getByRole('button', { name: 'Close' }).click();
    await kept.waitFor({ state: 'detached' });
    await ask('w2', 'npm run build', { always });
    await control('scopes', { scopes: 'approve read' });
    await page.reload();
    await card(page, 'w2').waitFor();
    equal(await card(page, 'w2').getByRole('button', { name: 'Always' }).count(), 0, 'buttons of a user who may not write settings');
    await control('scopes', { scopes: 'admin' });
    await page.reload();
    await control('answer', { id: 'w2', decision: 'deny' });
    await bodies();
  },
  'deny and stop': async () => {
    await ask('q4', 'rm -rf build');
    await settle(page);
    await card(page, 'q4').getByRole('button', { name: 'Deny and stop' }).click();
    await card(page, 'q4').waitFor({ state: 'detached' });
    equal(await bodies(), [{ decision: 'deny', stop: true, digest: 'digest-q4' }], 'the answer');
  },
  'a temporarily rejected answer stays and is sent again': async () => {
    for (const [id, status, why] of [['a1', 503, 'the store is unreachable'], ['a2', 507, 'the disk of its store is full']]) {
      await ask(id, 'make ' + id);
      await settle(page);
      await control('away', { status });
      await bodies();
      const q = card(page, id);
      await q.getByRole('button', { name: 'For this session' }).click();
      await q.getByRole('button', { name: 'Allow for this session' }).click();
      const kept = q.getByRole('status');
      await kept.getByText(why).waitFor();
      await kept.getByText('Allow for this session').waitFor();
      await shot(page, 'refused-for-now-' + status);
      await accessible(page, 'an answer that was refused for now');
      const again = { decision: 'allow-session', digest: 'digest-' + id };
      await until(async () => (await bodies()).some((b) => JSON.stringify(b) === JSON.stringify(again)), 'it is sent again');
      await control('away', { status: 0 });
      await q.waitFor({ state: 'detached' });
      equal((await bodies()).pop(), again, 'the answer');
    }
  },
  'a temporarily rejected answer can be discarded or changed': async () => {
    await ask('a3', 'make a3');
    await settle(page);
    await control('away', { status: 503 });
    const q = card(page, 'a3');
    await q.getByRole('button', { name: 'Allow once' }).click();
    await q.getByRole('button', { name: 'Discard it' }).click();
    equal(await q.getByRole('status').count(), 0, 'what is kept');
    await q.getByRole('button', { name: 'Deny', exact: false }).first().click();
    await q.getByRole('status').getByText('Deny').waitFor();
    await control('away', { status: 0 });
    await bodies();
    await q.getByRole('button', { name: 'Send now' }).click();
    await q.waitFor({ state: 'detached' });
    equal((await bodies()).pop(), { decision: 'deny', digest: 'digest-a3' }, 'the answer');
  },
  'an override can be allowed once only': async () => {
    await ask('q5', 'make it so', { reason: 'policy-deny-override', scopes: [] });
    await card(page, 'q5').getByText('overrides a deny').waitFor();
    equal(await card(page, 'q5').getByRole('button', { name: 'For this session' }).count(), 0, 'buttons for the session');
    await settle(page);
    await card(page, 'q5').getByRole('button', { name: 'Deny', exact: false }).first().click();
    await card(page, 'q5').waitFor({ state: 'detached' });
    await bodies();
  },
  'keyboard alone': async () => {
    await ask('k1', 'echo first');
    await ask('k2', 'echo second');
    await ask('k3', 'echo third');
    await card(page, 'k3').waitFor();
    await settle(page);
    await page.locator('#main').focus();
    const ids = await page.locator('.question').evaluateAll((l) => l.map((e) => e.id));
    const to = async (id) => {
      for (let i = 0; i < ids.length + 1; i++) {
        await page.keyboard.press('j');
        if (await page.evaluate(() => document.activeElement.id) === 'q-' + id) return;
      }
      throw new Error('j does not lead to ' + id + ' in ' + ids);
    };
    await to('k1');
    await page.evaluate(() => { // a second key press at once has no effect, because the list has just moved
      const press = () => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'y', bubbles: true, cancelable: true }));
      new MutationObserver((_, o) => {
        if (document.getElementById('q-k1')) return;
        o.disconnect();
        requestAnimationFrame(press);
      }).observe(document.body, { childList: true, subtree: true });
      press();
    });
    await card(page, 'k1').waitFor({ state: 'detached' });
    await until(() => page.evaluate(() => document.activeElement.id === 'q-k2'), 'the focus moves to the next approval');
    await settle(page);
    equal((await bodies()).length, 1, 'answers of two presses in a row');
    await settle(page);
    await page.keyboard.press('m');
    await until(() => page.evaluate(() => document.activeElement.tagName === 'TEXTAREA'), 'the reason has the focus');
    await page.keyboard.type('use the script, and jad');
    await page.keyboard.press('Control+Enter');
    await card(page, 'k2').waitFor({ state: 'detached' });
    equal(await bodies(), [{ decision: 'deny', message: 'use the script, and jad', digest: 'digest-k2' }], 'the answer with a reason');
    await settle(page);
    await to('k3').catch(async () => { await page.keyboard.press('k'); });
    await page.keyboard.press('a');
    await until(() => page.evaluate(() => document.activeElement.type === 'radio'), 'the scope has the focus');
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
    await page.keyboard.type('yns');
    await page.keyboard.press('Escape');
    equal((await bodies()).length, 0, 'answers while a dialog is open');
    await to('k3').catch(async () => { await page.keyboard.press('k'); });
    await page.keyboard.type('dr');
    equal((await bodies()).length, 0, 'answers by keys without a meaning');
    await page.keyboard.press('s');
    await card(page, 'k3').waitFor({ state: 'detached' });
    equal(await bodies(), [{ decision: 'deny', stop: true, digest: 'digest-k3' }], 'the answer that stops the run');
  },
  'a long request must be read first': async () => {
    const lines = Array.from({ length: 90 }, (_, i) => 'echo ' + i).join('\n');
    await ask('long', lines + '\nrm -rf /');
    const q = card(page, 'long');
    await q.waitFor();
    const yes = q.getByRole('button', { name: 'Allow once' });
    check(await yes.isDisabled(), 'it can be allowed unseen');
    await settle(page);
    await q.focus();
    await page.keyboard.press('y');
    equal((await bodies()).length, 0, 'key presses for an unread request');
    await q.locator('.what').evaluate((e) => { e.scrollTop = e.scrollHeight / 2; });
    check(await yes.isDisabled(), 'half of it is enough');
    await q.locator('.what').evaluate((e) => { e.scrollTop = e.scrollHeight; });
    await until(() => yes.isEnabled(), 'it can be answered after its end was seen');
    check((await q.locator('.what').innerText()).includes('rm -rf /'), 'its end is there');
    await q.getByRole('button', { name: 'Deny', exact: false }).first().click();
    await q.waitFor({ state: 'detached' });
    await bodies();
  },
  'two tabs and another client': async () => {
    const other = await c.newPage();
    await other.goto(base + '/');
    await ask('t1', 'make both');
    await Promise.all([card(page, 't1').waitFor(), card(other, 't1').waitFor()]);
    await page.bringToFront();
    await settle(page);
    const from = Date.now();
    await card(page, 't1').getByRole('button', { name: 'Allow once' }).click();
    await card(other, 't1').getByText('allowed once by ann').waitFor();
    const took = Date.now() - from;
    console.log(`     the other tab sees it after ${took} ms`);
    check(await card(other, 't1').getByRole('button', { name: 'Allow once' }).count() === 0, 'the other tab can still answer');
    await shot(other, 'answered-elsewhere');
    await card(other, 't1').waitFor({ state: 'detached', timeout: 12000 });
    await ask('t2', 'make again');
    await Promise.all([card(page, 't2').waitFor(), card(other, 't2').waitFor()]);
    await control('answer', { id: 't2', decision: 'deny', message: 'not on a friday' });
    await Promise.all([card(page, 't2').getByText('denied by bo via cli').waitFor(), card(other, 't2').getByText('not on a friday').waitFor()]);
    await other.close();
    await bodies();
  },
  'a tab without the latest approval': async () => {
    const other = await c.newPage();
    await other.addInitScript(() => {
      globalThis.BroadcastChannel = class extends BroadcastChannel {
        set onmessage(f) { super.onmessage = (e) => { if (!globalThis.deaf) f(e); }; }
      };
    });
    await other.goto(base + '/');
    await ask('h1', 'make the first');
    await Promise.all([card(page, 'h1').waitFor(), card(other, 'h1').waitFor()]);
    await other.evaluate(() => { globalThis.deaf = true; });
    await ask('h2', 'make the second');
    await card(page, 'h2').waitFor();
    await other.route('**/decision', async (r) => { // its response arrives after the stream's event
      const response = await r.fetch();
      await card(page, 'h1').getByText('allowed once by ann').waitFor();
      await r.fulfill({ response });
    });
    await settle(other);
    await card(other, 'h1').getByRole('button', { name: 'Allow once' }).click();
    await card(other, 'h1').waitFor({ state: 'detached' });
    await card(page, 'h1').waitFor({ state: 'detached' });
    equal(await page.locator('#q-h2:not(.away)').count(), 1, 'the second question');
    await other.close();
    await control('answer', { id: 'h2', decision: 'deny' });
    await settle(page);
    await bodies();
  },
  'new ones are announced and counted': async () => {
    await until(async () => /^\(\d+\) Inbox/.test(await page.title()), 'the title counts');
    const before = +/\d+/.exec(await page.title())[0];
    await ask('n1', 'make news');
    await page.locator('#urgent', { hasText: 'New approval: Bash' }).waitFor({ state: 'attached' });
    await until(async () => (await page.title()).startsWith(`(${before + 1})`), 'the title counts one more');
    await control('expire', { id: 'n1' });
    await card(page, 'n1').getByText(/denied automatically in \d+ s/).waitFor();
    await control('answer', { id: 'n1', decision: 'deny' });
  },
  'a user who may only read': async () => {
    await control('scopes', { scopes: 'read' });
    await ask('ro', 'make read only');
    await page.reload();
    await card(page, 'ro').getByText('You can read this, but not answer it.').waitFor();
    check(await card(page, 'ro').getByRole('button', { name: 'Allow once' }).isDisabled(), 'it can be answered');
    await control('scopes', { scopes: 'admin' });
    await page.reload();
    await until(() => card(page, 'ro').getByRole('button', { name: 'Allow once' }).isEnabled(), 'an admin can answer');
    await control('answer', { id: 'ro', decision: 'deny' });
  },
  'the daemon restarts': async () => {
    await control('down', { down: true });
    await page.getByText('Reconnecting').waitFor();
    await shot(page, 'reconnecting');
    await control('down', { down: false });
    await page.locator('.link-live').waitFor({ timeout: 20000 });
    await ask('back', 'make it back');
    await card(page, 'back').waitFor();
    await control('answer', { id: 'back', decision: 'deny' });
  },
});
