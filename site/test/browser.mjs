// Looks at the built site in Chromium, from files: every page in light and dark and on a
// phone (axe, nothing scrolls sideways), and the search.
//
//   node browser.mjs FOLDER [QUERY…]   with queries: prints what they find
import { createRequire } from 'node:module';
import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

const require = createRequire(join(process.env.HOLDFAST_WEBTOOLS, 'package.json'));
const { chromium } = require('playwright-core');
const axe = createRequire(require.resolve('@axe-core/playwright'))('axe-core');

// What a reader types, and a part of the title that must be among the first three results.
const searches = {
  'allow npm': 'Allow npm',
  openrouter: 'Use your model',
  'who approved this': 'Who approved this?',
  'move to postgresql': 'Move to PostgreSQL',
  'resume on another machine': 'Resume on another machine',
};

const root = resolve(process.argv[2]), queries = process.argv.slice(3), wrong = [];
const browser = await chromium.launch({ executablePath: process.env.HOLDFAST_CHROMIUM, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });
const page = await (await browser.newContext({ viewport: { width: 1280, height: 860 } })).newPage();
page.on('pageerror', (e) => wrong.push('page error: ' + e));
page.on('console', (m) => { if (m.type() === 'error') wrong.push('console: ' + m.text()); });
page.on('request', (r) => { if (!/^(file|data):/.test(r.url())) wrong.push('request to ' + r.url()); });
const open = (name) => page.goto('file://' + join(root, name));
const check = (ok, what) => { if (!ok) wrong.push(what); };

// search returns the titles of what a query finds.
async function search(q) {
  await page.keyboard.press('/');
  await page.keyboard.type(q);
  const found = (await page.locator('#hits a').allInnerTexts()).map((t) => t.split('\n')[0]);
  await page.locator('#q').fill('');
  await page.locator('#q').blur();
  return found;
}

async function look(name, view, ...rules) {
  if (!(await page.evaluate(() => !!globalThis.axe))) await page.evaluate(axe.source);
  const options = { preload: false, resultTypes: ['violations'], ...(rules.length && { runOnly: rules }) };
  for (const v of await page.evaluate(async (o) => (await globalThis.axe.run(o)).violations, options)) {
    if (v.impact === 'serious' || v.impact === 'critical') wrong.push(`${name} ${view}: ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(' | ')}`);
  }
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  check(over <= 0, `${name} ${view} scrolls sideways by ${over} px`);
}

await open('index.html');
if (queries.length) {
  for (const q of queries) {
    console.log(q);
    for (const t of (await search(q)).slice(0, 6)) console.log('    ' + t);
  }
  process.exit(0);
}

// The names of files below root, pages of decisions and formats left out but one each: they all look alike.
const pages = readdirSync(root, { recursive: true }).filter((n) => n.endsWith('.html')).sort();
const few = pages.filter((n, i) => !/^(decisions|formats)\//.test(n) || n.split('/')[0] !== pages[i - 1].split('/')[0]);
for (const name of few) {
  await page.setViewportSize({ width: 1280, height: 860 });
  await page.emulateMedia({ colorScheme: 'light' });
  await open(name);
  await look(name, 'light');
  await page.emulateMedia({ colorScheme: 'dark' });
  await look(name, 'dark', 'color-contrast');
  await page.setViewportSize({ width: 390, height: 844 });
  await page.reload();
  await look(name, 'phone', 'target-size', 'scrollable-region-focusable', 'color-contrast');
  check(!(await page.locator('nav .fold > ul, nav .fold details').first().isVisible()), `${name}: the list of pages is not folded on a phone`);
}

await page.setViewportSize({ width: 1280, height: 860 });
await open('index.html');
for (const [q, want] of Object.entries(searches)) {
  const found = (await search(q)).slice(0, 3);
  check(found.some((t) => t.includes(want)), `search "${q}": want ${want} among the first three, got ${found.join(' | ')}`);
}
await page.keyboard.press('/');
await page.keyboard.type('sandbox');
await page.keyboard.press('ArrowDown');
await page.keyboard.press('ArrowDown');
await page.keyboard.press('ArrowUp');
const first = await page.evaluate(() => document.activeElement.href);
await page.keyboard.press('Enter');
await page.waitForURL(first);
await page.goBack();
await page.keyboard.press('/');
await page.keyboard.type('xyzzyplugh');
check(await page.getByText('Nothing found.').isVisible(), 'a search without results does not say so');

await browser.close();
for (const w of wrong) console.error(w);
console.log(`${few.length} pages: ${wrong.length} problems`);
process.exit(wrong.length ? 1 : 0);
