// Text of models, tools and files is shown as text: nothing in it can run, load or hide anything,
// or look like the page.
import { allow, base, check, context, enter, equal, frames, loaded, run, shot } from './kit.mjs';

allow(/40[14]/);

const c = await context();
const page = await enter(c);
const elements = 'script:not([src="/main.js"]), iframe, object, embed, form[action], img:not([src="/icon.svg"]), svg, video, audio, base, link:not([href^="/"]), meta[http-equiv], style, [onerror], [onclick], [onload], [style*="url"]';
const inert = async (name) => {
  const seen = await page.evaluate((s) => {
    const bad = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]|[\u{e0001}-\u{e007f}]/u;
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const unseen = [];
    while (walk.nextNode()) if (bad.test(walk.currentNode.data) && !walk.currentNode.parentElement.closest('script')) unseen.push(walk.currentNode.parentElement.outerHTML.slice(0, 200));
    const links = [...document.querySelectorAll('a[href]')];
    const over = document.documentElement.scrollWidth - innerWidth;
    return {
      foreign: [...document.querySelectorAll(s)].map((e) => e.outerHTML.slice(0, 80)), owned: typeof globalThis.owned, unseen,
      links: links.map((a) => a.href).filter((h) => !/^https?:/.test(h)), tell: links.filter((a) => a.origin !== location.origin && !/noreferrer/.test(a.rel)).map((a) => a.href),
      wide: over > 0 ? [over, [...document.querySelectorAll('main *')].filter((e) => e.getBoundingClientRect().right > innerWidth + 1).pop()?.outerHTML.slice(0, 300)] : [],
    };
  }, elements);
  equal(seen.foreign, [], `foreign elements in ${name}`);
  equal(seen.owned, 'undefined', `script has run in ${name}`);
  equal(seen.unseen, [], `characters that cannot be seen in ${name}`);
  equal(seen.links, [], `links that are none in ${name}`);
  equal(seen.tell, [], `links that tell where they come from in ${name}`);
  equal(seen.wide, [], `what makes ${name} scroll sideways, in px`);
};

await run({
  inbox: async () => {
    await page.locator('#q-evil').waitFor();
    await inert('the inbox');
    check((await page.locator('#q-evil').innerText()).includes('\\u202e'), 'the change of direction is not shown');
    await page.locator('#q-evil .warning').first().waitFor();
    await shot(page, 'hostile-inbox', { fullPage: true });
  },
  session: async () => {
    await page.goto(base + '/sessions/evil');
    await page.locator('.row').first().waitFor();
    let text = '';
    let links = 0;
    const open = '[aria-expanded=false].call-head, [aria-expanded=false].thinking-head, .row-tools [aria-pressed=false]';
    for (let i = 0; i < 40; i++) { // rows are in the document only while they are visible
      await page.evaluate((s) => document.querySelectorAll(s).forEach((b) => b.click()), open);
      await frames(page);
      await inert('the session');
      links += await page.evaluate(() => document.querySelectorAll('a[href^="https://evil.example"]').length);
      text += await page.evaluate(() => document.body.innerText);
      if (await page.evaluate(() => { const was = scrollY; scrollBy(0, -800); return scrollY === was; })) break;
    }
    for (const shown of ['<script>owned=1</script>', '<img src=x onerror', '\\u202e', '\\x1b[2J', '\\x07', '\\u{e0041}']) check(text.includes(shown), `${shown} is not shown as it is`);
    check(links > 0, 'a link is no link');
    await shot(page, 'hostile-session', { fullPage: true });
  },
  sessions: async () => {
    await page.goto(base + '/sessions?q=' + encodeURIComponent('<img src=y onerror=owned=2>'));
    await page.getByText('No session matches').waitFor();
    await page.goto(base + '/sessions');
    await page.locator('tbody tr').first().waitFor();
    await inert('the list');
  },
  addresses: async () => {
    for (const path of ['/sessions/%3Cscript%3Eowned=1%3C%2Fscript%3E', '/policy?cwd=%3Cimg%20src%3Dx%20onerror%3Downed%3D1%3E', '/audit?session=javascript:owned=1', '/login#%3Cscript%3Eowned=1']) {
      await page.goto(base + path);
      await loaded(page);
      await inert(path);
    }
  },
});
