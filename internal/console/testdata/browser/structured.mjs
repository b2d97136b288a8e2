// A result with only structured content is shown, and the reason why a turn ended.
import { allow, base, check, context, enter, run, shot } from './kit.mjs';

allow(/404/);

const c = await context();
const page = await enter(c);

await run({
  'a structured result is shown': async () => {
    await page.goto(base + '/sessions/weather');
    const row = page.locator('.row-call', { hasText: 'mcp__weather__now' });
    await row.waitFor();
    await row.getByRole('button', { name: /mcp__weather__now/ }).click();
    await row.getByText('"degrees": 21').first().waitFor();
    check(await row.getByText('Zürich').count() > 0, 'the rest of it');
    await shot(page, 'structured');
  },
  'a turn that ended because of the budget': async () => {
    await page.goto(base + '/sessions/weather');
    await page.getByText(/budget/).first().waitFor();
  },
});
