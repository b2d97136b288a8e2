"use strict";
const form = document.querySelector("form"), shown = document.querySelector("output");
const rows = Array.from(document.querySelectorAll("tr.e"));
const texts = rows.map((row) => row.textContent.toLowerCase());
function choices(name) {
  const select = form.elements[name];
  for (const value of Array.from(new Set(rows.map((row) => row.dataset[name]))).sort()) {
    const option = document.createElement("option");
    option.value = option.textContent = value;
    select.append(option);
  }
}
function filter() {
  const words = form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
  const kind = form.elements.kind.value, action = form.elements.action.value, actor = form.elements.actor.value;
  let n = 0;
  rows.forEach((row, i) => {
    const d = row.dataset;
    row.hidden = Boolean(kind && d.kind !== kind || action && d.action !== action || actor && d.actor !== actor ||
      words.some((word) => !texts[i].includes(word)));
    if (!row.hidden) n++;
  });
  for (const body of document.querySelectorAll("tbody")) body.hidden = !body.querySelector("tr.e:not([hidden])");
  shown.textContent = n === rows.length ? n + " entries" : n + " of " + rows.length + " entries";
}
for (const name of ["kind", "action", "actor"]) choices(name);
form.hidden = false;
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
filter();
