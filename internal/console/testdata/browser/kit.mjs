// Shared by all scripts of the browser tests: the browser, pages that record errors, and checks. The
// first argument is the address of the server.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { mkdirSync } from 'node:fs';

const require = createRequire(join(process.env.HOLDFAST_WEBTOOLS, 'package.json'));
const { chromium } = require('playwright-core');
const axe = createRequire(require.resolve('@axe-core/playwright'))('axe-core');

export const base = process.argv[2];
export const shots = process.env.HOLDFAST_SCREENSHOTS || '';
if (shots) mkdirSync(shots, { recursive: true });

const browser = await chromium.connect(process.env.HOLDFAST_BROWSER); // serve.mjs started it

export const wrong = [];
const expected = [];

/** allow says that a message of the browser that matches is expected. */
export const allow = (pattern) => expected.push(pattern);

/** context is a browser of its own, with its own cookies. */
export async function context(options = {}) {
  const c = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
  c.setDefaultTimeout(15000);
  c.on('page', watch);
  return c;
}

function watch(page) {
  const note = (what) => { if (!expected.some((p) => p.test(what))) wrong.push(what); };
  page.on('dialog', (d) => { note('dialog: ' + d.message()); d.dismiss(); });
  page.on('pageerror', (e) => note('page error: ' + (e.stack || e)));
  page.on('console', (m) => { if (m.type() === 'error' || /content security|trusted/i.test(m.text())) note('console: ' + m.text()); });
  page.on('request', (r) => { if (!r.url().startsWith(base) && !r.url().startsWith('data:')) note('foreign request: ' + r.url()); });
}

/** enter logs a context in by its link and returns its page. */
export async function enter(c, code = 'good') {
  const page = await c.newPage();
  await page.goto(base + '/login#' + code);
  await page.getByRole('heading', { name: 'Inbox' }).waitFor();
  return page;
}

/** control asks the test's server for something that the page cannot. */
export async function control(what, body = {}) {
  const r = await fetch((process.env.HOLDFAST_CONTROL || base) + '/test/' + what, { method: 'POST', body: JSON.stringify(body) });
  if (!r.ok) throw new Error(`test server: ${what}: ${r.status} ${await r.text()}`);
  return r.json();
}

export function check(yes, message) {
  if (!yes) wrong.push('check: ' + message);
}

export function equal(got, want, message) {
  const [g, w] = [JSON.stringify(got), JSON.stringify(want)];
  check(g === w, `${message}: got ${g}, want ${w}`);
}

/** until waits for a condition, and fails when it does not come true. */
export async function until(f, message, ms = 10000) {
  const end = Date.now() + ms;
  let last;
  while (Date.now() < end) {
    try { if (await f()) return; } catch (e) { last = e; }
    await new Promise((r) => setTimeout(r, 40));
  }
  throw new Error(`${message} did not come true${last ? ': ' + last.message : ''}`);
}

/** frames waits until what was done has been drawn. */
export const frames = (page) => page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))));

/** loaded waits until the page has what it shows. */
export async function loaded(page) {
  await page.waitForLoadState('load');
  await page.locator('#app > :not(noscript)').first().waitFor({ state: 'attached' });
  await until(() => page.evaluate(() => !document.querySelector('.waiting[role=status]')), 'loading ends', 30000);
  await frames(page);
}

/**
 * settle waits until an inbox whose list has moved takes answers again. What others have
 * answered goes by itself, and moves it: that is waited for.
 */
export async function settle(page) {
  await until(async () => await page.locator('.question.away').count() === 0, 'what others have answered goes', 60000);
  await page.waitForTimeout(470);
}

/** accessible runs axe, all of its rules or some, and notes what is serious or critical. */
export async function accessible(page, name, ...rules) {
  await page.evaluate(() => Promise.all(document.getAnimations().filter((a) => a.effect.getComputedTiming().endTime !== Infinity).map((a) => a.finished.catch(() => {}))));
  if (!(await page.evaluate(() => !!globalThis.axe))) await page.evaluate(axe.source);
  const options = { resultTypes: ['violations'], ...(rules.length && { runOnly: rules }) };
  const violations = await page.evaluate(async (o) => (await globalThis.axe.run(o)).violations, options);
  for (const v of violations) {
    if (v.impact === 'serious' || v.impact === 'critical') wrong.push(`axe on ${name}: ${v.id}: ${v.help}: ${v.nodes.map((n) => n.html.slice(0, 160) + ' ' + (n.any[0]?.message || '').slice(0, 160)).slice(0, 4).join(' | ')}`);
  }
}

// sideways checks whether a page is wider than its window, and reports the element that is.
export async function sideways(page, name) {
  const [over, what] = await page.evaluate(() => {
    const wide = document.documentElement.scrollWidth - innerWidth;
    return [wide, wide > 0 && [...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > innerWidth + 1).pop()?.outerHTML.slice(0, 200)];
  });
  check(over <= 0, `${name} scrolls sideways by ${over} px: ${what}`);
}

export async function shot(page, name, options = {}) {
  if (shots) await page.screenshot({ path: join(shots, name + '.png'), ...options });
}

/** run runs parts one after the other and tells what went wrong. */
export async function run(parts) {
  for (const [name, part] of Object.entries(parts)) {
    const from = wrong.length;
    const began = Date.now();
    try {
      await part();
    } catch (e) {
      wrong.push(`${name}: ${e.stack || e}`);
      for (const [i, p] of browser.contexts().flatMap((c) => c.pages()).entries()) {
        await shot(p, `failed-${name.replace(/\W+/g, '-')}-${i}`).catch(() => {});
        wrong.push(`page ${i} is at ${p.url()}: ${(await p.evaluate(() => document.body.innerText.slice(0, 300)).catch(() => '')).replace(/\s+/g, ' ')}`);
      }
    }
    console.log(`${wrong.length === from ? 'ok  ' : 'FAIL'} ${name} (${Date.now() - began} ms)`);
    for (const w of wrong.slice(from)) console.log('     ' + w);
  }
  await browser.close();
  process.exit(wrong.length ? 1 : 0);
}
