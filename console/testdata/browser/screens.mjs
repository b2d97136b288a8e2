// Every screen in both themes and on a narrow one: nothing serious for axe, nothing that
// scrolls sideways.
import { accessible, allow, check, context, enter, base, run, shot, until } from './kit.mjs';

allow(/40[14]/); // a session without a run, and a page without a login

const screens = {
  inbox: '/', sessions: '/sessions', session: '/sessions/build', record: '/sessions/build#seq-14', policy: '/policy?session=build&cwd=/src/calendar', audit: '/audit', status: '/status', nothing: '/no/such/page',
};

async function sideways(page, name) {
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  check(over <= 0, `${name} scrolls sideways by ${over} px`);
}

async function settled(page) {
  await page.waitForLoadState('load');
  await until(() => page.evaluate(() => !document.querySelector('.waiting[role=status]')), 'loading ends');
  await page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))));
}

async function all(label, options) {
  const c = await context(options);
  const page = await enter(c);
  for (const [name, path] of Object.entries(screens)) {
    await page.goto(base + path);
    await page.getByRole('heading').or(page.locator('.empty')).first().waitFor();
    await settled(page);
    await accessible(page, `${name} ${label}`);
    await sideways(page, `${name} ${label}`);
    await shot(page, `${name}-${label}`, { fullPage: name !== 'session' && name !== 'record' });
  }
  await page.goto(base + '/');
  await page.getByRole('button', { name: 'For this session' }).first().waitFor();
  await page.keyboard.press('?');
  await page.getByRole('dialog').waitFor();
  await accessible(page, 'help ' + label);
  await shot(page, 'help-' + label);
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'For this session' }).first().click();
  await page.getByRole('group', { name: /rest of this run/ }).waitFor();
  await accessible(page, 'scope ' + label);
  await shot(page, 'scope-' + label);
  await c.close();
}

await run({
  light: () => all('light', { colorScheme: 'light' }),
  dark: () => all('dark', { colorScheme: 'dark' }),
  narrow: () => all('narrow', { colorScheme: 'light', viewport: { width: 390, height: 844 }, hasTouch: true }),
  zoom: () => all('zoom', { colorScheme: 'dark', viewport: { width: 640, height: 430 } }), // 1280 at 200 %
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
    await page.getByLabel('Colours').selectOption('dark');
    const dark = await colour();
    check(light !== dark, 'the switch changes nothing');
    await page.reload();
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
    check((await colour()) === dark, 'the switch is forgotten');
    await c.close();
  },
});
