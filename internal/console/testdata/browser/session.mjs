// A session: its rows, following its end, links to records, and its actions.
import { allow, base, check, context, control, enter, equal, frames, run, shot, until } from './kit.mjs';

allow(/404/);

const c = await context();
const page = await enter(c);
const say = (text) => control('append', { session: 'build', kind: 'item', payload: { item: { role: 'assistant', id: 'i' + text, parts: [{ type: 'text', text }] } } });
const open = async (path) => {
  await page.goto(base + path);
  await page.locator('.row').first().waitFor();
};
const calls = async () => ((await control('calls')) || []).map((x) => x.replace('/v1/', ''));
const bottom = () => page.evaluate(() => document.documentElement.scrollHeight - innerHeight - scrollY);

await run({
  'a call is one row': async () => {
    await open('/sessions/build#seq-14');
    const row = page.locator('.row-marked');
    await row.getByText('sh test.sh').first().waitFor();
    equal(await page.locator('.row', { hasText: 'test.sh' }).filter({ has: page.locator('.call-head', { hasText: 'sh test.sh' }) }).count(), 1, 'rows of one call');
    await row.getByRole('button', { name: /Bash/ }).click();
    for (const text of ['rules', 'check-command.sh', '15 protected names', 'exit code 1']) await row.getByText(text).first().waitFor();
    check(await row.locator('.fg1').count() > 0, 'colours of a terminal');
    await row.getByRole('button', { name: 'JSON' }).click();
    equal(await row.locator('.raw pre').count(), 6, 'records of the call');
    await shot(page, 'call-open');
  },
  'edit shows its change and who allowed it': async () => {
    await open('/sessions/build');
    const row = page.locator('.row-call', { hasText: 'date.js' }).filter({ has: page.locator('.diff') });
    await row.getByText('allowed for the session by bo via console').waitFor();
    equal(await row.locator('.line.del .text').first().innerText(), 'if (d >= daysInMonth(y, m)) {', 'the line that goes');
  },
  'follows the end': async () => {
    await open('/sessions/build');
    await until(async () => (await bottom()) < 4, 'it begins at its end');
    await say('one more thing');
    await page.getByText('one more thing', { exact: true }).waitFor(); // the row, not the announcement for screen readers
    await until(async () => (await bottom()) < 4, 'it stays at its end');
    await page.mouse.move(640, 300);
    await page.mouse.wheel(0, -700);
    await page.getByRole('button', { name: 'Jump to latest' }).waitFor();
    const y = await page.evaluate(() => scrollY);
    const records = async () => +(await page.locator('.windowed-row').first().getAttribute('aria-setsize'));
    const before = await records();
    await say('and a last one');
    await until(async () => (await records()) > before, 'the record is there');
    await frames(page);
    check(Math.abs((await page.evaluate(() => scrollY)) - y) < 4, 'it jumps while the user reads');
    await page.getByRole('button', { name: 'Jump to latest' }).click();
    await page.getByText('and a last one', { exact: true }).waitFor();
    await until(async () => (await bottom()) < 4, 'it is at its end again');
    await calls();
  },
  'images of a message are named': async () => {
    const image = { name: 'plan.png', mime: 'image/png', data: 'AAAA' };
    await control('append', { session: 'build', kind: 'item', payload: { item: { role: 'user', id: 'look', parts: [{ type: 'text', text: 'look' }, { type: 'media', ...image }] } } });
    await page.locator('.row', { hasText: '[image plan.png]' }).last().waitFor();
    await control('append', { session: 'build', kind: 'run.event', payload: { event: 'steered', text: 'and this', images: [{ ...image, name: 'more.png' }] } });
    await page.getByText('[image more.png]').last().waitFor();
  },
  'steer, mode, stop, continue': async () => {
    await page.getByLabel('Say something to the running agent').fill('only the tests');
    await page.keyboard.press('Enter');
    await page.getByText('only the tests').last().waitFor();
    equal(await calls(), ['POST runs/build/steer {"text":"only the tests"}'], 'steering');
    await page.getByLabel('Mode').selectOption('plan');
    await until(async () => (await page.getByLabel('Mode').inputValue()) === 'plan', 'the mode changes');
    await page.getByLabel('Mode').selectOption('bypassPermissions');
    await page.getByRole('dialog').getByText('no longer ask').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    equal(await page.getByLabel('Mode').inputValue(), 'plan', 'the mode after Cancel');
    await control('input');
    await page.getByLabel(/writer asks for input/).fill('May');
    await page.getByRole('button', { name: 'Answer' }).click();
    await until(async () => (await calls()).some((x) => x.includes('runs/build/input {"agent":"writer","input_id":"i1","text":"May"}')), 'the input is given');
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await page.getByText('run stopped').first().waitFor();
    await page.getByRole('button', { name: 'Continue' }).waitFor();
  },
  fork: async () => {
    const row = page.locator('.row-assistant').first();
    await row.hover();
    await row.getByRole('button', { name: 'Fork' }).click();
    await page.getByRole('dialog').getByLabel(/Title/).fill('another way');
    await page.getByRole('dialog').getByRole('button', { name: 'Fork' }).click();
    await page.waitForURL('**/sessions/fork');
    await page.getByRole('heading', { name: 'another way' }).waitFor();
    const call = (await calls()).find((x) => x.includes('/fork'));
    check(/"at":"/.test(call || ''), 'where it is forked: ' + call);
  },
  'search and filters are in the address': async () => {
    await page.goto(base + '/sessions');
    await page.locator('tbody tr').first().waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('month');
    await page.waitForURL('**/sessions?q=month');
    await page.getByLabel('with pending approvals').check();
    await page.waitForURL('**asked=1**');
    await page.reload();
    await page.locator('tbody tr').first().waitFor();
    const n = await page.locator('tbody tr').count();
    await page.getByLabel('with pending approvals').uncheck();
    await page.getByLabel('with pending approvals').check(); // the rows change without reloading the page
    await page.waitForFunction((n) => document.querySelectorAll('tbody tr').length === n, n);
    await page.getByLabel('Search').fill('there is no such thing');
    await page.getByText('No session matches').waitFor();
    await page.getByRole('button', { name: 'Clear the filters' }).click();
    await page.waitForURL(base + '/sessions');
  },
  'policy, grants and audit': async () => {
    await page.goto(base + '/policy?session=build&cwd=%2Fsrc%2Fcalendar');
    await page.getByLabel(/command, or its input/).fill('git push');
    await page.getByRole('button', { name: 'Test' }).click();
    await page.getByText('rule Bash(git push:*) asks about it').waitFor();
    await page.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('This session has no grants.').waitFor();
    await page.goto(base + '/audit?kind=decision');
    await page.locator('tbody tr').first().waitFor();
    await page.getByRole('button', { name: 'Verify everything' }).click();
    await page.getByText('verified').waitFor();
    await page.getByRole('button', { name: /Detail of/ }).first().click();
    await page.getByRole('region', { name: /entry/ }).waitFor();
  },
});
