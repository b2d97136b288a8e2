// Takes the pictures of the console: a daemon runs an agent with a scripted model, and
// Chromium looks at its approval request and at the finished run.
//
//   node screenshots.mjs STAGE OUT
//
// STAGE is an empty folder but for the program, STAGE/holdfast. As root the agent works
// as the user ann in /home/ann, which exist for these processes alone.
import { createRequire } from 'node:module';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, cpSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const { chromium } = createRequire(join(process.env.HOLDFAST_WEBTOOLS, 'package.json'))('playwright-core');
const [stage, out] = [resolve(process.argv[2]), resolve(process.argv[3])];
const root = process.getuid() === 0, user = 4711;
const home = join(stage, 'home'), project = join(home, 'calendar'), play = join(stage, 'model.yaml');

chmodSync(stage, 0o755);
mkdirSync(home);
mkdirSync(out, { recursive: true });
cpSync('internal/demo/project', project, { recursive: true });
writeFileSync(play, readFileSync('site/record/plays/first.yaml'));
writeFileSync(join(stage, 'passwd'), `ann:x:${user}:${user}::/home/ann:/bin/sh\n`);
if (root) for (const f of [home, project, ...readdirSync(project).map((n) => join(project, n))]) chownSync(f, user, user);

const enter = `mount --bind "$STAGE/passwd" /etc/passwd && mount -t tmpfs none /home && mkdir /home/ann &&
mount --bind "$STAGE/home" /home/ann && cd /home/ann/calendar && exec setpriv --reuid=${user} --regid=${user} --clear-groups "$@"`;
const [program, ...before] = root ? ['unshare', '-m', 'sh', '-c', enter, 'sh', join(stage, 'holdfast')] : [join(stage, 'holdfast')];
const options = {
  cwd: project, encoding: 'utf8',
  env: { STAGE: stage, HOME: root ? '/home/ann' : home, USER: root ? 'ann' : process.env.USER, PATH: '/usr/bin:/bin:/usr/sbin:/sbin', HOLDFAST_MODEL: 'scripted/' + play, TZ: 'UTC' },
};
const holdfast = (...args) => spawn(program, [...before, ...args], options);

const daemon = holdfast('daemon', '--listen', '127.0.0.1:0');
let log = '';
daemon.stdout.on('data', (d) => { log += d; });
daemon.stderr.on('data', (d) => { log += d; });

// link asks for the link that logs a browser in, until the daemon answers.
async function link() {
  for (let i = 0; i < 100; i++) {
    const r = spawnSync(program, [...before, 'daemon', 'open'], options);
    const found = /http:\/\/\S+/.exec(r.stdout || '');
    if (found) return found[0];
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error('the daemon does not answer:\n' + log);
}

const browser = await chromium.launch({ executablePath: process.env.HOLDFAST_CHROMIUM, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });
let page;
try {
  page = await (await browser.newContext({ viewport: { width: 1040, height: 680 }, colorScheme: 'light', timezoneId: 'UTC' })).newPage();
  page.setDefaultTimeout(20000);
  await page.goto(await link());
  const run = holdfast('run', '--name', 'Fix the calendar', '--on-ask', 'wait', 'One of the tests fails. Fix it.');
  let said = '';
  run.stderr.on('data', (d) => { said += d; });
  const ended = new Promise((done) => run.on('exit', done));

  // For half a second after the list has moved, the console takes no answer.
  const allow = async () => {
    await page.waitForTimeout(700);
    await page.getByRole('button', { name: /^Allow once/ }).click();
  };
  // The first approval request is about a command, the second about a change.
  await page.getByText('sh test.sh').first().waitFor();
  await allow();
  await page.getByText('+++').or(page.getByText('-gt')).first().waitFor();
  await page.waitForTimeout(700);
  await page.screenshot({ path: join(out, 'approval.png') });
  await allow();
  await page.getByText('sh test.sh').first().waitFor();
  await allow();
  const code = await ended;
  if (code !== 0) throw new Error(`the run ended with ${code}:\n${said}`);
  await page.goto(new URL('/sessions', page.url()).href);
  await page.getByText('Fix the calendar').first().click();
  await page.getByText('all 8 tests pass').first().waitFor();
  await page.waitForTimeout(700);
  await page.screenshot({ path: join(out, 'session.png') });
} catch (e) {
  await page?.screenshot({ path: join(stage, 'failed.png') });
  console.error(e);
  process.exitCode = 1;
} finally {
  await browser.close();
  daemon.kill('SIGTERM');
  await new Promise((done) => (daemon.exitCode === null ? daemon.on('exit', done) : done()));
}
