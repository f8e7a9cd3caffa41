"use strict";

function element(name, text, parent) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

function field(parent, name, text) {
  const label = element("label", text || name, parent);
  const input = element("input", "", label);
  input.name = name;
  return input;
}

function show(parent, method, path, operation) {
  const details = element("details", "", parent);
  const summary = element("summary", "", details);
  element("code", method.toUpperCase() + " " + path, summary);
  summary.append(" " + operation.summary);
  const form = element("form", "", details);
  const inputs = operation.parameters.map((one) => [one, field(form, one.name, one.description)]);
  let body = null, kind = null;
  if (operation.requestBody) {
    const kinds = Object.keys(operation.requestBody.content);
    kind = element("select", "", element("label", "Content-Type", form));
    kinds.forEach((one) => element("option", one, kind));
    body = element("textarea", "", element("label", "Body", form));
  }
  element("button", "Send", form);
  const answer = element("pre", "", details);
  answer.hidden = true;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    let target = path;
    const query = new URLSearchParams(), headers = {};
    for (const [one, input] of inputs) {
      if (one.in === "path") target = target.replace(`{${one.name}}`, encodeURIComponent(input.value));
      else if (input.value && one.in === "query") query.set(one.name, input.value);
      else if (input.value) headers[one.name] = input.value;
    }
    const token = document.getElementById("token").value;
    if (token) headers.Authorization = "Bearer " + token;
    if (body) headers["Content-Type"] = kind.value;
    const text = query.size ? "?" + query : "";
    const options = { method: method.toUpperCase(), headers, body: body ? body.value : undefined };
    answer.hidden = false;
    try {
      const response = await fetch(target + text, options);
      const found = await response.text();
      answer.textContent = response.status + "\n" + found;
    } catch (error) {
      answer.textContent = String(error);
    }
  });
}

fetch("/openapi.json").then((response) => response.json()).then((found) => {
  const parent = document.getElementById("operations");
  for (const [path, methods] of Object.entries(found.paths))
    for (const [method, operation] of Object.entries(methods))
      if (path !== "/events") show(parent, method, path, operation);
});
