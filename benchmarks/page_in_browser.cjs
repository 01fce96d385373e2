// Times of the page in Chromium, for page.py, which tells what it needs: medians of 5 openings, in ms.

const { createRequire } = require("node:module");
const { MODULES, CHROMIUM = "/usr/bin/chromium", PAGE } = process.env;
const { chromium } = createRequire(MODULES + "/")("playwright-core");
const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
// From the change to the picture after it.
const timed = (page, change) => page.evaluate(async (source) => {
  const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  await painted();
  const start = performance.now();
  eval(source);
  await painted();
  return performance.now() - start;
}, change);
const set = (selector, value, event) =>
  `{ const e = document.querySelector(${JSON.stringify(selector)}); e.value = ${JSON.stringify(value)}; e.dispatchEvent(new Event("${event}")); }`;

(async () => {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
  const found = {};
  for (let i = 0; i < 5; i++) {
    const context = await browser.newContext({ offline: true, bypassCSP: true });
    const page = await context.newPage();
    await page.goto("file://" + PAGE);
    const times = {
      "first paint": await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime),
      "all drawn": await page.evaluate(() => performance.timing.domContentLoadedEventEnd - performance.timing.navigationStart),
      "slice chosen": await timed(page, set("#slices select", "1", "change")),
      "slice back": await timed(page, set("#slices select", "*", "change")),
      "search, one letter": await timed(page, set("#search", "1", "input")),
      "search, a query": await timed(page, set("#search", "q004321", "input")),
      "search, emptied": await timed(page, set("#search", "", "input")),
      "system chosen": await timed(page, set("#system", "7", "change")),
      "measure chosen": await timed(page, set("#measure", "1", "change")),
    };
    for (const [name, time] of Object.entries(times)) (found[name] ??= []).push(time);
    await context.close();
  }
  await browser.close();
  for (const name of Object.keys(found)) found[name] = median(found[name]);
  console.log(JSON.stringify(found));
})();
