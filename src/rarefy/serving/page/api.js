// Requests to the service, with the token that it may want.

import { by } from "./dom.js";

const KEY = "rarefy-token"; // in what the browser forgets with the tab
let asking = null;

export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// A dialog's answer: the value of the button that closed it, "" for Escape.
export function answerTo(dialog) {
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue), { once: true });
  });
}

// Whether a token was given; several requests that need one ask once.
export function askForToken(why) {
  if (!asking) {
    by("token-why").textContent = why;
    by("token").value = "";
    asking = answerTo(by("token-dialog")).then((answer) => {
      asking = null;
      if (answer !== "use") return false;
      sessionStorage.setItem(KEY, by("token").value.trim());
      by("token").value = "";
      return true;
    });
  }
  return asking;
}

export async function confirmed(text, yes) {
  by("confirm-text").textContent = text;
  by("confirm-yes").textContent = yes;
  return (await answerTo(by("confirm"))) === "yes";
}

async function send(method, path, { body, kind, signal } = {}) {
  const token = sessionStorage.getItem(KEY), headers = {};
  if (token) headers.Authorization = `Bearer ${token}`;
  if (kind) headers["Content-Type"] = kind;
  const response = await fetch(path, { method, headers, body, signal });
  if (response.ok) return response;
  const found = await response.json().catch(() => ({}));
  const message = found.error?.message ?? `The service answered ${response.status}.`;
  if (response.status === 401) {
    const why = token ? "The service does not know this token." : "The service wants a token.";
    const isNew = sessionStorage.getItem(KEY) !== token; // given for another request meanwhile
    if (isNew || (await askForToken(why))) return send(method, path, { body, kind, signal });
  }
  throw new Refusal(response.status, message);
}

export async function ask(method, path, more) {
  const response = await send(method, path, more);
  return response.status === 204 ? null : response.json();
}

// The data of server-sent events; EventSource could not send a token.
export async function* events(path, signal) {
  const response = await send("GET", path, { signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const line = part.split("\n").find((one) => one.startsWith("data: "));
      if (line) yield JSON.parse(line.slice(6));
    }
  }
}
