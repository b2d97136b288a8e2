// Starts the browser for all scripts, prints its address, and ends it when the standard input
// ends.
import { createRequire } from 'node:module';
import { join } from 'node:path';

const { chromium } = createRequire(join(process.env.HOLDFAST_WEBTOOLS, 'package.json'))('playwright-core');
const server = await chromium.launchServer({
  host: '127.0.0.1', executablePath: process.env.HOLDFAST_CHROMIUM, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
});
console.log(server.wsEndpoint());
process.stdin.resume().on('end', async () => {
  await server.close();
  process.exit(0);
});
