// A picture of the example's page: node tests/browser/picture.mjs FILE.png [dark] [open]
//   PAGES, MODULES, CHROMIUM as for page.test.mjs

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const { PAGES, MODULES, CHROMIUM = "/usr/bin/chromium" } = process.env;
const [file, ...how] = process.argv.slice(2);
const { chromium } = createRequire(pathToFileURL(`${MODULES}/`))("playwright-core");

const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage({
  colorScheme: how.includes("dark") ? "dark" : "light",
  viewport: { width: 1240, height: how.includes("open") ? 2300 : 1380 },
});
await page.goto(pathToFileURL(`${PAGES}/example.html`).href);
await page.locator("#board").getByRole("button", { name: "char-tfidf" }).click();
if (how.includes("open")) await page.locator("#queries .open").first().click();
await page.mouse.move(0, 0);
await page.evaluate(() => document.activeElement.blur());
await page.screenshot({ path: file });
await browser.close();
