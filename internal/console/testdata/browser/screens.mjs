// Every screen in both themes and on a narrow window: axe reports no serious problem, and nothing
// scrolls sideways.
import { accessible, allow, check, context, enter, base, frames, loaded, run, shot, sideways } from './kit.mjs';

allow(/40[14]/); // a session without a run, and a page without a login

const screens = {
  inbox: '/', sessions: '/sessions', session: '/sessions/build', record: '/sessions/build#seq-14', policy: '/policy?session=build&cwd=/src/calendar', workspaces: '/workspaces', workspace: '/workspaces/blog', audit: '/audit', status: '/status', nothing: '/no/such/page',
};

// The rules of axe that depend on the size of the screen.
const ofSize = ['scrollable-region-focusable', 'target-size', 'aria-hidden-focus'];

const wide = { width: 1280, height: 860 };
const views = [
  ['light', 'light', wide],
  ['dark', 'dark', wide],
  ['zoom', 'dark', { width: 640, height: 430 }, ...ofSize], // 1280 at 200 %
  ['narrow', 'light', { width: 390, height: 844 }, ...ofSize],
];

// look checks a page in each view.
async function look(page, name, fullPage = false) {
  for (const [view, colorScheme, size, ...rules] of views) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(size);
    await frames(page);
    await accessible(page, `${name} ${view}`, ...rules);
    await sideways(page, `${name} ${view}`);
    await shot(page, `${name}-${view}`, { fullPage });
  }
  await page.setViewportSize(wide);
}

const c = await context({ hasTouch: true }); // without hover, everything is visible
const page = await enter(c);
const visits = Object.entries(screens).map(([name, path]) => [name, async () => {
  await page.goto(base + path);
  await page.getByRole('heading').or(page.locator('.empty')).first().waitFor();
  await loaded(page);
  await look(page, name, name !== 'session' && name !== 'record');
}]);

await run({
  ...Object.fromEntries(visits),
  'help and scope': async () => {
    await page.goto(base + '/');
    await page.getByRole('button', { name: 'For this session' }).first().waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
    await look(page, 'help');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'For this session' }).first().click();
    await page.getByRole('group', { name: /for this session, with the scope/i }).waitFor();
    await look(page, 'scope');
  },
  login: async () => {
    const c = await context();
    const page = await c.newPage();
    await page.goto(base + '/');
    await page.getByText('holdfast daemon open').waitFor();
    await accessible(page, 'login');
    await shot(page, 'login');
    await page.goto(base + '/login#bad');
    await page.getByText('This link does not work').waitFor();
    check(!page.url().includes('bad'), 'the code stays in the address: ' + page.url());
    await shot(page, 'login-bad');
    await c.close();
  },
  theme: async () => {
    const c = await context({ colorScheme: 'light' });
    const page = await enter(c);
    const colour = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const light = await colour();
    await page.getByLabel('Colors').selectOption('dark');
    const dark = await colour();
    check(light !== dark, 'the switch changes nothing');
    await page.reload();
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
    check((await colour()) === dark, 'the switch is forgotten');
    await c.close();
  },
});
