// Searches the headings and texts of all pages, without a server.
const root = document.currentScript.dataset.root;
const input = document.getElementById("q"), hits = document.getElementById("hits"), status = document.getElementById("found");
const stop = new Set("a an the to of in on is are and or do does did how what who why when where can i my this that it for with be".split(" "));
let index;

// stem makes "approved", "approves" and "approving" one word.
function stem(word) {
  for (const end of ["ing", "ed", "es", "s", "e"]) if (word.length - end.length > 3 && word.endsWith(end)) return word.slice(0, -end.length);
  return word;
}
const term = (t) => (stop.has(t = t.toLowerCase()) ? null : stem(t));

function build() {
  index = new MiniSearch({
    fields: ["head", "page", "text"], storeFields: ["head", "page", "text", "url", "weight"], processTerm: term,
    searchOptions: {
      boost: { head: 4, page: 2.5 }, prefix: (t) => t.length > 2, fuzzy: (t) => (t.length > 5 ? 0.15 : false),
      boostDocument: (_id, _term, f) => f.weight, combineWith: "AND",
    },
  });
  index.addAll(window.pages.map(({ u: url, p: page, h: head, t: text, w: weight }, id) => ({ id, url, page, head, text, weight })));
}

// find puts headings that contain the query as it was typed first. When few pages have
// all of its words, those with some follow.
function find(q) {
  let all = index.search(q);
  if (all.length < 5) {
    const seen = new Set(all.map((h) => h.id));
    all = all.concat(index.search(q, { combineWith: "OR" }).filter((h) => !seen.has(h.id)));
  }
  const typed = q.toLowerCase(), exact = (h) => (h.head + " " + h.page).toLowerCase().includes(typed) * h.weight;
  return all.sort((a, b) => exact(b) - exact(a));
}

function snippet(text, terms) {
  const low = text.toLowerCase(), places = terms.map((t) => low.indexOf(t)).filter((i) => i >= 0);
  const at = places.length ? Math.max(0, Math.min(...places) - 60) : 0;
  const span = document.createElement("small"), part = (at ? "…" : "") + text.slice(at, at + 180);
  const re = new RegExp("(" + terms.map((t) => t.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|") + ")", "giu");
  part.split(re).forEach((s, i) => { const n = document.createElement(i % 2 ? "mark" : "span"); n.textContent = s; span.append(n); });
  return span;
}

function show() {
  if (!index) build();
  const q = input.value.trim(), found = q ? find(q).slice(0, 12) : [];
  hits.replaceChildren(...found.map((h) => {
    const li = document.createElement("li"), a = document.createElement("a");
    a.href = root + h.url;
    a.append(h.page === h.head ? h.page : h.page + " › " + h.head, snippet(h.text || h.head, h.terms));
    li.append(a);
    return li;
  }));
  status.textContent = !q ? "" : found.length ? found.length + " results" : "Nothing found.";
  status.classList.toggle("none", q !== "" && !found.length);
  hits.hidden = !found.length;
}

// move goes to the next or the previous result, and from the first one back to the box.
function move(step) {
  const all = [input, ...hits.querySelectorAll("a")];
  all[(all.indexOf(document.activeElement) + step + all.length) % all.length].focus();
}

input.addEventListener("input", show);
input.addEventListener("focus", () => { if (input.value) show(); });
document.addEventListener("keydown", (e) => {
  const typing = document.activeElement.matches("input, textarea, select");
  if (e.key === "/" && !typing && !e.ctrlKey && !e.metaKey && !e.altKey) { e.preventDefault(); input.focus(); input.select(); }
  if (e.key === "Escape" && !hits.hidden) { hits.hidden = true; input.focus(); }
  if (e.key === "Enter" && document.activeElement === input) hits.querySelector("a")?.click();
  if ((e.key === "ArrowDown" || e.key === "ArrowUp") && !hits.hidden && document.activeElement.closest("header")) {
    e.preventDefault();
    move(e.key === "ArrowDown" ? 1 : -1);
  }
});
document.addEventListener("click", (e) => { if (!e.target.closest("header") || e.target.closest("#hits a")) hits.hidden = true; });

// On a narrow screen the list of pages is folded.
if (matchMedia("(max-width: 48rem)").matches) document.querySelector("nav > details").open = false;

// What scrolls sideways can be reached with the keyboard.
addEventListener("load", () => {
  for (const e of document.querySelectorAll("pre, .table")) if (e.scrollWidth > e.clientWidth) e.tabIndex = 0;
});
