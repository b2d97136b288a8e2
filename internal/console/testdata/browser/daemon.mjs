// The page with a real daemon: a run that waits for approval, two tabs, kill -9, and the headers
// of every page.
import { accessible, allow, base, check, context, control, enter, equal, loaded, run, settle, shot, until } from './kit.mjs';

allow(/40[134]|ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY|50[0-9]/);

const code = async () => (await control('link')).url.split('#')[1];
const c = await context();
const page = await enter(c, await code());

await run({
  headers: async () => {
    const r = await page.request.get(base + '/');
    check(/default-src 'none'/.test(r.headers()['content-security-policy'] || ''), 'no policy');
    check(/trusted-types 'none'/.test(r.headers()['content-security-policy'] || ''), 'no trusted types');
    equal(r.headers()['x-content-type-options'], 'nosniff', 'the type');
    for (const f of ['main.js', 'vendor/preact.mjs']) check(/javascript/.test((await page.request.get(`${base}/${f}`)).headers()['content-type']), `the type of ${f}`);
    equal((await page.request.get(base + '/none.js')).status(), 404, 'a file that is not there');
    equal((await page.request.get(base + '/sessions/a.b', { headers: { Accept: 'text/html' } })).status(), 200, 'a session with a dot');
  },
  'the link works once': async () => {
    const other = await context();
    const p = await other.newPage();
    const once = await code();
    await p.goto(base + '/login#' + once);
    await p.getByRole('heading', { name: 'Inbox' }).waitFor();
    const third = await context();
    const q = await third.newPage();
    await q.goto(base + '/login#' + once);
    await q.getByText('This link does not work').waitFor();
    await third.close();
    await p.getByRole('button', { name: 'Log out' }).click();
    await p.getByText('holdfast daemon open').waitFor();
    equal((await p.request.get(base + '/v1/info')).status(), 401, 'the cookie after logging out');
    await other.close();
  },
  'without the CSRF token nothing is changed': async () => {
    const status = await page.evaluate(async () => (await fetch('/v1/logout', { method: 'POST' })).status);
    check(status === 403, 'POST without the token: ' + status);
    const evil = await page.request.post(base + '/v1/runs', { headers: { Origin: 'https://evil.example' }, data: {} });
    check(evil.status() === 403, 'POST from elsewhere: ' + evil.status());
  },
  'two tabs: one answers, the other sees it': async () => {
    await control('run', { id: 'one' });
    const other = await c.newPage();
    await other.goto(base + '/');
    const ask = other.locator('.question', { hasText: 'git push' });
    await ask.waitFor({ timeout: 30000 });
    await page.bringToFront();
    await page.locator('.question', { hasText: 'git push' }).waitFor();
    await settle(page);
    const from = Date.now();
    await page.locator('.question', { hasText: 'git push' }).getByRole('button', { name: 'Deny', exact: false }).first().click();
    await ask.getByText(/denied by/).waitFor();
    const took = Date.now() - from;
    console.log(`     the other tab sees it after ${took} ms`);
    await other.goto(base + '/sessions/one');
    await other.getByText('run completed').first().waitFor({ timeout: 30000 });
    await other.getByText(/denied by .* via/).first().waitFor();
    await shot(other, 'daemon-session');
    await accessible(other, 'a session of the program');
    await other.close();
  },
  'kill -9: the approval stays and can be answered': async () => {
    await control('run', { id: 'two' });
    const q = page.locator('.question', { hasText: 'git push' });
    await q.waitFor({ timeout: 30000 });
    const live = await c.newPage();
    await live.goto(base + '/sessions/two');
    await live.locator('.question').waitFor();
    await control('kill');
    await page.bringToFront();
    await page.getByText('Reconnecting').waitFor();
    await control('start');
    const after = await code();
    await page.getByText('holdfast daemon open').waitFor(); // the daemon keeps logins in memory
    const login = await c.newPage();
    await login.goto(base + '/login#' + after);
    await login.getByRole('heading', { name: 'Inbox' }).waitFor();
    const still = login.locator('.question', { hasText: 'git push' });
    await still.waitFor();
    await shot(login, 'after-kill');
    await settle(login);
    await still.getByRole('button', { name: 'Deny with a reason' }).click();
    await still.getByLabel('Message for the model').fill('not today');
    await still.getByRole('button', { name: 'Deny', exact: true }).click();
    await still.waitFor({ state: 'detached' });
    await login.goto(base + '/sessions/two');
    await login.getByText('not today').first().waitFor();
    await login.getByRole('button', { name: 'Continue' }).click();
    await login.getByText('run completed').first().waitFor({ timeout: 30000 });
    await login.close();
    await live.close();
    await page.getByRole('heading', { name: 'Inbox' }).waitFor(); // the tabs share the login
  },
  'steer, mode, fork, rename': async () => {
    await control('run', { id: 'three' });
    await page.goto(base + '/sessions/three');
    await page.locator('.question').waitFor({ timeout: 30000 });
    await page.getByLabel('Mode').selectOption('plan');
    await page.getByText('mode is now plan').waitFor();
    await page.getByLabel('Say something to the running agent').fill('hurry up');
    await page.keyboard.press('Enter');
    await page.getByText('hurry up').last().waitFor();
    await page.getByRole('button', { name: 'Rename' }).click();
    await page.getByLabel('Title').fill('third time');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'third time' }).waitFor();
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await page.getByText('run stopped').first().waitFor({ timeout: 20000 });
    await page.getByRole('button', { name: 'Fork' }).first().click();
    await page.getByRole('dialog').getByRole('button', { name: 'Fork' }).click();
    await page.waitForURL((u) => u.pathname.startsWith('/sessions/') && !u.pathname.endsWith('three'));
    await page.getByText('forked from').first().waitFor();
  },
  'always: the rule is in the settings file of the project': async () => {
    await control('run', { id: 'four' });
    await page.goto(base + '/');
    const q = page.locator('.question', { hasText: 'git push' });
    await q.waitFor({ timeout: 30000 });
    await settle(page);
    await q.getByRole('button', { name: 'Always' }).click();
    await q.getByRole('radio', { name: /every command that begins/ }).check();
    await shot(page, 'daemon-always');
    await q.getByRole('button', { name: 'Always in this project' }).click();
    await page.locator('.kept', { hasText: /^Bash\(git push:\*\) is allowed in this project, for you: .*\/src\/\.holdfast\/settings\.local\.json:\d/ }).waitFor();
    await shot(page, 'daemon-always-kept');
    await page.goto(base + '/sessions/four');
    await page.getByText('run completed').first().waitFor({ timeout: 30000 });
    equal(await control('rules'), { rules: ['Bash(git push:*)'] }, 'what the settings say');
  },
  'the other screens': async () => {
    for (const [path, seen, text] of [['/sessions', 'tbody', 'third time'], ['/policy?session=two', 'h2', 'Policy of this session'], ['/audit', 'tbody', 'git push'], ['/status', 'dd', 'ready']]) {
      await page.goto(base + path);
      await page.locator(seen, { hasText: text }).first().waitFor();
      await loaded(page);
      equal(await page.locator('.trouble').allInnerTexts(), [], 'trouble on ' + path);
      await accessible(page, path);
      await shot(page, 'daemon' + path.split('?')[0].replace('/', '-'), { fullPage: true });
    }
    await page.goto(base + '/policy?session=two');
    await page.getByLabel(/command, or its input/).fill('git push');
    await page.getByRole('button', { name: 'Test' }).click();
    await page.locator('.verdict').waitFor();
    await page.goto(base + '/audit?session=two');
    await page.getByRole('button', { name: 'Verify this session' }).click();
    await page.getByText('verified').waitFor({ timeout: 30000 });
    await page.goto(base + '/status');
    await page.getByLabel("New token's name").fill('robot');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByText('The secret is shown only once').waitFor();
    check(/hf_/.test(await page.locator('.made pre').innerText()), 'the secret');
    await page.getByRole('cell', { name: 'robot' }).waitFor();
  },
});
