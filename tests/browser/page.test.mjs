// The page in a real browser, without network: run by .ci/browser, which makes the pages first.
//   PAGES: folder of the pages; MODULES: folder with playwright-core and axe-core; CHROMIUM: the browser.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

const { PAGES, MODULES, CHROMIUM = "/usr/bin/chromium" } = process.env;
const require = createRequire(pathToFileURL(`${MODULES}/`));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core"), "utf-8");
const expected = JSON.parse(readFileSync(`${PAGES}/example.json`, "utf-8"));
const hostile = JSON.parse(readFileSync(`${PAGES}/hostile.json`, "utf-8"));
const cut = (text) => (text.length > 200 ? text.slice(0, 199) + "…" : text);

let browser;

before(async () => {
  browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: [
      "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync",
    ],
  });
});
after(() => browser?.close());

/** Open a page without network; any error, or anything it asks for but itself, fails the test. */
async function opened(name, options = {}) {
  const context = await browser.newContext({ offline: true, viewport: { width: 1240, height: 900 }, ...options });
  const page = await context.newPage();
  const troubles = [], asked = [];
  page.on("pageerror", (error) => troubles.push(String(error)));
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && troubles.push(message.text()));
  page.on("request", (request) => asked.push(request.url()));
  const address = pathToFileURL(`${PAGES}/${name}.html`).href;
  await page.goto(address);
  await page.waitForSelector("#board tbody tr");
  return {
    page,
    async close() {
      assert.deepEqual(troubles, []);
      assert.deepEqual(asked.filter((url) => url !== address && !url.startsWith("data:")), []);
      await context.close();
    },
  };
}

const plain = (text) => Number.parseFloat(text.replaceAll("−", "-"));

async function board(page) {
  return page.$$eval("#board tbody tr", (rows) =>
    rows.map((row) => {
      const cell = (name) => row.querySelector(`[data-cell="${name}"]`)?.textContent ?? "";
      return {
        system: (row.querySelector("th button") ?? row.querySelector("th span")).firstChild.textContent,
        mean: cell("mean"), interval: cell("interval"), difference: cell("difference"), p: cell("p"), outcomes: cell("outcomes"),
      };
    }));
}

function assertBoard(shown, wanted) {
  assert.deepEqual(shown.map((row) => row.system), wanted.map((row) => row.system));
  shown.forEach((row, i) => {
    const right = wanted[i], near = (text, number) => assert.ok(Math.abs(plain(text) - number) <= 0.00051, `${text} is not ${number}`);
    near(row.mean, right.value);
    const [low, high] = row.interval.slice(1, -1).split(", ");
    near(low, right.low);
    near(high, right.high);
    if (right.difference === null) {
      assert.deepEqual([row.difference, row.p, row.outcomes], ["", "", ""]);
    } else {
      near(row.difference, right.difference);
      assert.equal(row.difference.includes("significantly"), right.p_t_holm < 0.05);
      const p = plain(row.p);
      assert.ok(Math.abs(p - right.p_t_holm) <= Math.max(0.00051, 0.51 * right.p_t_holm));
      assert.equal(row.outcomes, `${right.wins} / ${right.ties} / ${right.losses}`);
    }
  });
}

test("opens without network, and the table of systems has the right numbers", async () => {
  const { page, close } = await opened("example");
  assert.equal(await page.title(), "Docstring search");
  assertBoard(await board(page), expected.boards[""]);
  assert.equal(await page.textContent("#board-size"), `${expected.queries} queries`);
  assert.equal(await page.locator("figure svg").count(), 4);
  await close();
});

test("the slice picker changes numbers, charts and queries", async () => {
  const { page, close } = await opened("example");
  const chart = await page.innerHTML("#differences");
  await page.getByLabel("kind").selectOption("topical");
  assertBoard(await board(page), expected.boards["kind=topical"]);
  assert.equal(await page.textContent("#board-size"), `${expected.topical} queries`);
  assert.equal(await page.textContent("#queries-size"), `${expected.topical} of ${expected.queries} queries`);
  assert.notEqual(await page.innerHTML("#differences"), chart);
  await page.getByLabel("length").selectOption("short");
  assertBoard(await board(page), expected.boards["kind=topical,length=short"]);
  await page.getByLabel("kind").selectOption("any");
  await page.getByLabel("length").selectOption("any");
  assertBoard(await board(page), expected.boards[""]);
  assert.equal(await page.innerHTML("#differences"), chart);
  await close();
});

test("a system's name chooses what is compared", async () => {
  const { page, close } = await opened("example");
  await page.locator("#board").getByRole("button", { name: "char-tfidf" }).click();
  assert.equal(await page.getByRole("combobox", { name: "System" }).evaluate((s) => s.selectedOptions[0].text), "char-tfidf");
  assert.match(await page.textContent("#differences-title"), /char-tfidf minus bm25/);
  assert.equal(await page.locator("#board button[aria-pressed=true]").textContent(), "char-tfidf");
  assert.equal(await page.locator("#board tbody tr.chosen").getAttribute("data-system"), "2");
  await close();
});

test("the search filters queries by text and by id", async () => {
  const { page, close } = await opened("example");
  const found = () => page.$$eval("#queries tr[data-query]", (rows) => rows.map((row) => row.dataset.query).sort());
  await page.getByLabel("Search").fill(expected.word.toUpperCase());
  assert.deepEqual(await found(), [...expected.with_word].sort());
  await page.getByLabel("Search").fill(expected.worst);
  assert.deepEqual(await found(), [expected.worst]);
  await page.getByLabel("Search").fill("no query has this");
  assert.deepEqual(await found(), []);
  assert.equal(await page.textContent("#queries-size"), `0 of ${expected.queries} queries`);
  await page.getByLabel("Search").fill("");
  assert.equal((await found()).length, 100);
  await page.getByRole("button", { name: "Show more" }).click();
  assert.equal((await found()).length, 200);
  await close();
});

test("a query opens into both rankings, with what each item adds", async () => {
  const { page, close } = await opened("example");
  await page.getByRole("combobox", { name: "System" }).selectOption("char-tfidf");
  const first = page.locator("#queries tr[data-query]").first();
  assert.equal(await first.getAttribute("data-query"), expected.worst);
  assert.ok(Math.abs(plain(await first.locator(".gap span").textContent()) - expected.worst_gain) <= 0.00051);
  const button = first.getByRole("button", { name: `rankings of ${expected.worst}` });
  // By keyboard, as a person without a mouse.
  await button.focus();
  await page.keyboard.press("Enter");
  assert.equal(await button.getAttribute("aria-expanded"), "true");
  for (const [system, items] of [["bm25", expected.baseline_items], ["char-tfidf", expected.other_items]]) {
    const rows = page.locator(`.ranking[data-system="${system}"] tbody tr:not(.missed, .rest, .total)`);
    const shown = await rows.evaluateAll((all) => all.map((row) => [row.cells[0].textContent, row.cells[1].firstChild.textContent]));
    const top = shown.filter(([rank]) => Number(rank) <= 20);
    assert.deepEqual(top.map(([, item]) => item), items);
    assert.deepEqual(top.map(([rank]) => Number(rank)), items.map((_, i) => i + 1));
  }
  const adds = await page.locator('.ranking[data-system="bm25"] tbody tr:not(.total)').evaluateAll((rows) => rows.map((row) => row.cells[3].textContent).filter(Boolean).map(Number));
  assert.equal(adds.length, expected.baseline_adds.length);
  adds.forEach((number, i) => assert.ok(Math.abs(number - expected.baseline_adds[i]) <= 0.00051));
  await button.click();
  assert.equal(await page.locator(".ranking").count(), 0);
  await page.getByLabel("Measure").selectOption("bpref");
  await page.locator("#queries .open").first().click();
  assert.match(await page.textContent(".detail"), /bpref is not a sum over items/);
  await close();
});

test("columns sort, and rankings that are not on the page are said to be so", async () => {
  const { page, close } = await opened("example");
  const gaps = async () => (await page.locator("#queries .gap span").allTextContents()).map(plain);
  const ascending = await gaps();
  assert.deepEqual(ascending, [...ascending].sort((a, b) => a - b));
  await page.getByRole("button", { name: "Difference" }).click();
  const descending = await gaps();
  assert.deepEqual(descending, [...descending].sort((a, b) => b - a));
  assert.equal(await page.locator("#queries th[aria-sort=descending]").count(), 1);
  assert.match(await page.textContent("#queries-note"), new RegExp(`rankings of 200 of ${expected.queries} queries`));
  await page.getByLabel("only queries with rankings").check();
  assert.equal(await page.textContent("#queries-size"), `200 of ${expected.queries} queries`);
  await close();
});

test("what looks like markup stays text", async () => {
  const { page, close } = await opened("hostile");
  assert.equal(await page.title(), hostile[1]);
  assert.equal(await page.textContent("h1"), hostile[1]);
  const queries = await page.$$eval("#queries tr[data-query] > th", (cells) => cells.map((cell) => cell.firstChild.textContent));
  assert.deepEqual([...queries].sort(), hostile.map(cut).sort());
  const titles = await page.$$eval("#queries tr[data-query] > th[title]", (cells) => cells.map((cell) => cell.title));
  assert.deepEqual(titles, hostile.filter((text) => text.length > 200));
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), "wider than the window");
  for (const button of await page.locator("#queries .open").all()) await button.click();
  const items = await page.$$eval(".ranking tbody th", (cells) => cells.map((cell) => cell.firstChild.textContent));
  for (const text of hostile) assert.ok(items.includes(cut(text)), text);
  assert.ok(await page.$$eval(".scroll", (all) => all.every((one) => one.scrollWidth <= one.clientWidth + 1)), "tables scroll");
  await page.getByLabel("<i>slice</i>").selectOption({ label: hostile[0] });
  await page.getByLabel("Search").fill(hostile[0]);
  assert.equal(await page.locator("#queries tr[data-query]").count(), 1);
  assert.equal(await page.evaluate(() => window.broken), undefined);
  assert.equal(await page.locator("img, i, b").count(), 0);
  assert.equal(await page.locator("script").count(), 2);
  await close();
});

test("a system that lacks the queries of a slice has no value there, and the others keep theirs", async () => {
  const wanted = JSON.parse(readFileSync(`${PAGES}/lacking.json`, "utf-8"));
  const { page, close } = await opened("lacking");
  assert.match(await page.textContent("#board-note"), /Some systems lack queries/);
  for (const half of ["first", "second"]) {
    await page.getByLabel("half").selectOption(half);
    const rows = await board(page);
    assert.equal(rows.length, 7);
    for (const { system, mean, outcomes } of rows) {
      const value = wanted[half][system];
      if (value === undefined) assert.deepEqual([mean, outcomes], ["–", "0 / 0 / 0"]);
      else assert.ok(Math.abs(plain(mean) - value) <= 0.00051, `${system}: ${mean} is not ${value}`);
    }
    const lines = await page.locator("#cutoffs polyline title").allTextContents();
    assert.deepEqual(lines.sort(), Object.keys(wanted[half]).sort());
    assert.equal(rows.at(-1).system === "s3", half === "first");
  }
  await page.getByLabel("half").selectOption("first");
  await page.locator("#board").getByRole("button", { name: "s3" }).click();
  assert.match(await page.textContent("#differences"), /No queries in this slice/);
  await close();
});

test("a page without attributes and texts, of integer ids", async () => {
  const { page, close } = await opened("plain");
  assert.equal(await page.locator("#controls select").count(), 2);
  assert.deepEqual(await page.$$eval("#queries tr[data-query]", (rows) => rows.map((row) => row.dataset.query).sort()), ["1", "2"]);
  await page.locator("#queries .open").first().click();
  assert.equal(await page.locator(".ranking").count(), 2);
  assert.match(await page.textContent("#queries-note"), /the rankings of all queries/);
  await close();
});

for (const colorScheme of ["light", "dark"]) {
  for (const name of ["example", "hostile", "plain", "lacking"]) {
    test(`axe finds nothing serious: ${name}, ${colorScheme}`, async () => {
      const { page, close } = await opened(name, { colorScheme });
      await page.locator("#queries .open").first().click();
      // Through the debugger, since the page lets no script run but its own.
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => window.axe.run());
      const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
      assert.deepEqual(serious.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).slice(0, 3).join(" ")}`), []);
      await close();
    });
  }
}
