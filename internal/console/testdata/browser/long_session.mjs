// A session of 10,000 records: only the visible rows are in the document.
import { allow, base, check, context, enter, frames, run, shot, until } from './kit.mjs';

allow(/404/);

const c = await context();
const page = await enter(c);
const rows = () => page.locator('.windowed-row').count();
let most = 0;
const count = async () => { const n = await rows(); most = Math.max(most, n); return n; };

await run({
  'starts at the end': async () => {
    const from = Date.now();
    await page.goto(base + '/sessions/long');
    await page.getByText('answer 3333', { exact: true }).waitFor();
    console.log(`     the last record is there after ${Date.now() - from} ms`);
    await until(() => page.evaluate(() => document.documentElement.scrollHeight - innerHeight - scrollY < 4), 'it is at its end');
    await count();
  },
  'up to the first record': async () => {
    await page.mouse.move(640, 400);
    const from = Date.now();
    let steps = 0;
    while (!(await page.getByText('session opened').count())) {
      await page.mouse.wheel(0, -15000);
      await frames(page);
      await count();
      if (++steps > 1500) throw new Error('it has no beginning');
    }
    console.log(`     ${steps} turns of the wheel in ${Date.now() - from} ms, at most ${most} rows in the document`);
    check(most > 5 && most < 160, `${most} rows in the document`);
  },
  'order and no repeat': async () => {
    const seqs = await page.evaluate(() => [...document.querySelectorAll('.row .seq')].map((e) => +e.textContent));
    check(seqs.every((s, i) => i === 0 || s >= seqs[i - 1]), 'rows are out of order: ' + seqs);
    const keys = await page.evaluate(() => [...document.querySelectorAll('.windowed-row')].map((e) => e.dataset.key));
    check(new Set(keys).size === keys.length, 'a row is there twice');
  },
  'frames while it scrolls': async () => {
    const took = await page.evaluate(async () => {
      const times = [];
      let last = performance.now();
      for (let i = 0; i < 90; i++) {
        scrollBy(0, 400);
        await new Promise((r) => requestAnimationFrame(r));
        const now = performance.now();
        times.push(now - last);
        last = now;
      }
      times.sort((a, b) => a - b);
      return { median: times[45], p95: times[85] };
    });
    console.log(`     a frame takes ${took.median.toFixed(1)} ms, at most ${took.p95.toFixed(1)} ms for 95 of 100`);
  },
  'a link into the middle': async () => {
    await page.goto(base + '/');
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
    await page.goto(base + '/sessions/long#seq-5000');
    await page.locator('.row-marked').first().waitFor();
    const at = await page.locator('.row-marked').first().boundingBox();
    check(at && at.y >= -2 && at.y < 600, 'the record is in sight: ' + JSON.stringify(at));
    await shot(page, 'long-middle');
    await page.getByRole('button', { name: 'Jump to latest' }).click();
    await page.getByText('answer 3333', { exact: true }).waitFor();
    await until(() => page.evaluate(() => document.documentElement.scrollHeight - innerHeight - scrollY < 4), 'it is at its end');
    check((await count()) < 160, 'rows in the document');
  },
});
