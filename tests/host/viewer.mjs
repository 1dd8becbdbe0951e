// Opens a trace in speedscope in a headless Chromium, prints the title of each of its rows, and takes a picture. Chromium is spoken to through a pipe, its DevTools protocol, so that nothing but Node is needed.
//
//   node viewer.mjs SPEEDSCOPE-FOLDER TRACE SCREENSHOT
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [speedscope, trace, screenshot] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "viewer-"));
const give = `speedscope.loadFileFromBase64(${JSON.stringify("trace.json")}, ${JSON.stringify(readFileSync(trace).toString("base64"))})`;
writeFileSync(join(folder, "trace.js"), give);

const chromium = spawn(
    "chromium",
    ["--headless", "--no-sandbox", "--disable-gpu", "--use-gl=swiftshader", "--enable-unsafe-swiftshader", "--remote-debugging-pipe",
        "--allow-file-access-from-files", "--window-size=1600,900", `--user-data-dir=${join(folder, "profile")}`, "about:blank"],
    { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] },
);
const ended = new Promise((done) => chromium.on("exit", done));
let last = 0;
let rest = "";
const waiting = new Map();
chromium.stdio[4].on("data", (data) => {
    const parts = (rest + data).split("\0");
    rest = parts.pop();
    for (const part of parts) {
        const message = JSON.parse(part);
        const { done, fail } = waiting.get(message.id) ?? {};
        waiting.delete(message.id);
        if (message.error) fail?.(new Error(message.error.message));
        else done?.(message.result);
    }
});

function send(method, params = {}, sessionId) {
    const id = ++last;
    chromium.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    return new Promise((done, fail) => waiting.set(id, { done, fail }));
}

// Runs in the page until it gives something.
async function until(session, expression, what) {
    for (const end = Date.now() + 120_000; Date.now() < end; await new Promise((done) => setTimeout(done, 100))) {
        const { result } = await send("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true }, session);
        if (result.value) return result.value;
    }
    throw new Error(`the viewer has not come to show ${what}`);
}

async function main() {
    const { targetId } = await send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
    const page = pathToFileURL(resolve(speedscope, "dist/release/index.html"));
    await send("Page.enable", {}, sessionId);
    await send("Page.navigate", { url: `${page}#localProfilePath=${join(folder, "trace.js")}` }, sessionId);
    // The title of the row that is shown says which of how many it is: "reader (pid 2, tid 5) (3/17)".
    const title = `(document.body?.innerText ?? "").split("\\n").find((line) => /^\\S.*\\(\\d+\\/\\d+\\)$/.test(line))`;
    const shown = await until(sessionId, title, "a row");
    const [, first, rows] = shown.match(/\((\d+)\/(\d+)\)$/).map(Number);
    const press = async (key, code) => {
        const event = { key, code, text: key, windowsVirtualKeyCode: key.toUpperCase().charCodeAt(0) };
        await send("Input.dispatchKeyEvent", { type: "keyDown", ...event }, sessionId);
        await send("Input.dispatchKeyEvent", { type: "keyUp", ...event }, sessionId);
    };
    // `p` shows the row before, `n` the next one; the viewer begins with the row that has most in it.
    for (let row = first; row > 1; row--) {
        await press("p", "KeyP");
        await until(sessionId, `(${title} ?? "").endsWith("(${row - 1}/${rows})")`, `row ${row - 1}`);
    }
    for (let row = 1; row <= rows; row++) {
        const text = await until(sessionId, `${title}?.endsWith("(${row}/${rows})") && ${title}`, `row ${row}`);
        console.log(text.replace(/ \(\d+\/\d+\)$/, ""));
        if (row < rows) await press("n", "KeyN");
    }
    for (let row = rows; row > first; row--) {
        await press("p", "KeyP");
        await until(sessionId, `(${title} ?? "").endsWith("(${row - 1}/${rows})")`, `row ${row - 1}`);
    }
    // The drawing is of the frame after the title's.
    await until(sessionId, "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))", "a frame");
    const { data } = await send("Page.captureScreenshot", { format: "png" }, sessionId);
    writeFileSync(screenshot, Buffer.from(data, "base64"));
}

let status = 0;
try {
    await main();
} catch (error) {
    console.error(`viewer: ${error.message}`);
    status = 1;
}
chromium.kill();
await ended;
rmSync(folder, { recursive: true, force: true });
process.exit(status);
