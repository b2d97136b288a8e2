// Workspaces: create, change, prompt, files, stop and delete one; build an image.
import { accessible, allow, check, context, control, enter, base, equal, loaded, run, shot, sideways, until } from './kit.mjs';

allow(/40[0-9]|50[0-9]/); // errors that the daemon returns here

const c = await context();
const page = await enter(c);
const calls = async () => ((await control('calls')) || []).map((l) => { const [method, path, ...body] = l.split(' '); return [method, path, body.join(' ')]; });
const button = (name) => page.getByRole('button', { name, exact: true });
const wide = { width: 1280, height: 860 };

// seen checks the page in both themes, wide and narrow.
async function seen(name) {
  for (const [view, colorScheme, size] of [['light', 'light', wide], ['dark', 'dark', wide], ['narrow', 'light', { width: 390, height: 844 }], ['narrow-dark', 'dark', { width: 390, height: 844 }]]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(size);
    await accessible(page, `${name} ${view}`);
    await sideways(page, `${name} ${view}`);
    await shot(page, `workspaces-${name}-${view}`, { fullPage: true });
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize(wide);
}

await run({
  create: async () => {
    await page.goto(base + '/workspaces');
    await loaded(page);
    await button('New workspace').click();
    await page.getByLabel('Name').fill('Notes');
    await page.getByLabel('Kind').selectOption('acp');
    await page.getByLabel('Command').fill('gemini\n--acp');
    await page.getByLabel('Network access').selectOption('proxy');
    await page.getByLabel('Domains').fill(' api.example.com \n\n*.example.org:443');
    await page.getByLabel('Mounts').fill('/srv/a:b:/mnt/data:ro\n/srv/c:/mnt/c');
    await page.getByLabel('Processors').fill('two');
    await control('calls');
    await button('Create the workspace').click();
    const field = page.getByLabel('Processors');
    await until(async () => (await field.getAttribute('aria-invalid')) === 'true', 'a field that is no number is marked');
    check(await field.evaluate((e) => e === document.activeElement), 'the field with the error has no focus');
    equal(await calls(), [], 'nothing is sent that is no number');
    await field.fill('0.5');
    await button('Create the workspace').click(); // the daemon rejects the name
    const name = page.getByLabel('Name');
    await until(async () => (await name.getAttribute('aria-invalid')) === 'true', 'the name is marked');
    const said = await page.locator('#' + (await name.getAttribute('aria-describedby')).split(' ').pop()).innerText();
    check(/has 'N' in it.*hint: use a to z/s.test(said), 'the field says: ' + said);
    await seen('make');
    await control('calls');
    await name.fill('notes');
    await button('Create the workspace').click();
    await page.getByRole('heading', { name: 'notes' }).waitFor();
    const [[method, path, body]] = await calls();
    equal([method, path, JSON.parse(body)], ['POST', '/v1/workspaces', {
      slug: 'notes', project: '', image: '', agent: { kind: 'acp', command: ['gemini', '--acp'] }, model: '', limits: { cpus: 0.5 },
      network: { mode: 'proxy', domains: ['api.example.com', '*.example.org:443'] },
      mounts: [{ host: '/srv/a:b', at: '/mnt/data', readonly: true }, { host: '/srv/c', at: '/mnt/c' }], credentials: [],
    }], 'what is sent');
    await page.goBack();
    await page.getByLabel('Name').fill('notes');
    await button('Create the workspace').click();
    await until(async () => (await page.getByLabel('Name').getAttribute('aria-invalid')) === 'true', 'a name that is taken is marked');
  },
  change: async () => {
    await page.goto(base + '/workspaces/blog');
    await button('Change settings').click();
    await page.getByText('recreated with the new settings when it is idle').waitFor();
    await seen('change');
    await page.getByLabel('Memory').fill('1k');
    await page.getByLabel('Network access').selectOption('none');
    await control('calls');
    await button('Save').click();
    await page.getByText('hint: give at least 64m').waitFor();
    await page.getByLabel('Memory').fill('4g');
    await control('calls');
    await button('Save').click();
    await page.getByText('memory 4g').waitFor();
    const [[method, path, body]] = await calls();
    equal([method, path, JSON.parse(body)], ['PATCH', '/v1/workspaces/blog', { limits: { memory: '4g', cpus: 2, pids: 512, disk: '20g' }, network: { mode: 'none' } }], 'only what has changed is sent');
    await page.getByText('recreated when idle', { exact: true }).waitFor();
  },
  'start and stop': async () => {
    await control('calls');
    await button('Start').click();
    await until(async () => button('Start').isEnabled(), 'it is started');
    await button('Stop').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('1 agent').waitFor();
    await seen('stop');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    equal((await calls()).map((l) => l[1]), ['/v1/workspaces/blog/start'], 'an unconfirmed stop has no effect');
    await button('Stop').click();
    await dialog.getByRole('button', { name: 'Stop' }).click();
    await until(async () => (await calls()).some((l) => l[1] === '/v1/workspaces/blog/stop'), 'it is stopped');
  },
  files: async () => {
    await loaded(page);
    await control('calls');
    const upload = page.getByLabel('Files to upload');
    await upload.setInputFiles({ name: 'a b#.txt', mimeType: 'text/html', buffer: Buffer.from('hello') });
    let made;
    await until(async () => { made = (await calls())[0]; return made; }, 'a file is uploaded');
    equal(made, ['PUT', '/v1/workspaces/blog/files/content?in=project&path=a+b%23.txt', 'hello'], 'the upload');
    await upload.setInputFiles({ name: 'odd', mimeType: '', buffer: Buffer.from('x') });
    await until(async () => (await calls()).length === 1, 'another one is uploaded');
    await page.getByRole('combobox', { name: /Folder/ }).selectOption('home');
    await loaded(page);
    await upload.setInputFiles({ name: 'notes.md', mimeType: '', buffer: Buffer.from('new') });
    await page.getByRole('dialog').getByText('notes.md is already in this folder').waitFor();
    equal(await calls(), [], 'nothing is replaced without confirmation');
    await page.getByRole('dialog').getByRole('button', { name: 'Replace' }).click();
    await until(async () => (await calls()).length === 1, 'it is replaced');
    await page.getByText('the workspace has used up its disk').waitFor();
  },
  prompt: async () => {
    const text = page.getByLabel('Prompt');
    check(await button('Run').isDisabled(), 'an empty prompt can be sent');
    await text.fill('fix the test');
    await control('calls');
    await button('Run').click();
    await page.waitForURL('**/sessions/build');
    equal(await calls(), [['POST', '/v1/runs', '{"workspace":"blog","input":"fix the test"}']], 'the run');
  },
  image: async () => {
    await page.goto(base + '/workspaces');
    await page.getByLabel('Build an image').selectOption('debian');
    await page.getByLabel('claude').check();
    await control('calls');
    await button('Build').click();
    await page.getByText('Building: downloading packages').waitFor();
    check(await button('Build').isDisabled(), 'a second build can be started');
    await seen('image');
    await page.getByRole('link', { name: 'Sessions' }).click();
    await page.getByRole('link', { name: 'Workspaces' }).click();
    await page.getByText('@anthropic-ai').waitFor(); // the build continues
    await control('built');
    await page.getByText('Built holdfast/workspace:debian').waitFor();
    equal((await calls()).map((l) => l[2]), ['{"variant":"debian","with":["claude"]}'], 'the build');
    await button('Done').click();
    await page.getByLabel('Build an image').selectOption('scratch');
    await button('Build').click();
    await button('Stop the build').click();
    await page.getByText('Stopped.').waitFor();
    await button('Done').click();
    await page.getByLabel('Build an image').selectOption('debian');
    await page.getByLabel('Base').fill('nope');
    await button('Build').click();
    await page.getByText('the engine has no image nope').waitFor();
  },
  delete: async () => {
    await page.goto(base + '/workspaces/blog');
    await button('Delete').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('/src/calendar').waitFor();
    await seen('delete');
    await control('calls');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('12 files and folders deleted; 1 session is kept.').waitFor();
    equal((await calls()).map((l) => [l[0], l[1]]), [['DELETE', '/v1/workspaces/blog']], 'the delete');
    await page.goto(base + '/workspaces/old'); // its settings are damaged
    await button('Delete').click();
    await dialog.getByLabel(/do not remove the container/).waitFor({ state: 'detached' });
    await dialog.getByRole('button', { name: 'Cancel' }).click();
  },
  'a user who may only read': async () => {
    await control('scopes', { scopes: 'read' });
    for (const path of ['/workspaces?new=1', '/workspaces/notes?change=1']) {
      await page.goto(base + path);
      await loaded(page);
      await page.getByRole('heading', { level: 1 }).waitFor();
      for (const name of ['New workspace', 'Create the workspace', 'Build', 'Start', 'Stop', 'Delete', 'Save', 'Change settings', 'Upload', 'Run']) check((await button(name).count()) === 0, `${path} has ${name}`);
    }
  },
});
