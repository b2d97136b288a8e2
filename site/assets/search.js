// Searches the headings and texts of all pages, without a server.
const root = document.currentScript.dataset.root;
const input = document.getElementById("q"), hits = document.getElementById("hits");
let index;
const small = new Set("a an the to of in on is are and or do does how what with for my this that it i".split(" "));
function build() {
  index = new MiniSearch({ fields: ["head", "page", "text"], storeFields: ["head", "page", "text", "url"],
    processTerm: t => small.has(t = t.toLowerCase()) ? null : t,
    searchOptions: { boost: { head: 4, page: 2 }, prefix: t => t.length > 2, fuzzy: t => t.length > 5 ? 0.15 : false, combineWith: "AND" } });
  index.addAll(window.pages.map(({ u: url, p: page, h: head, t: text }, id) => ({ id, url, page, head, text })));
}
function snippet(text, terms) {
  const low = text.toLowerCase(), at = Math.max(0, Math.min(...terms.map(t => (low.indexOf(t) + text.length) % text.length || 0)) - 60);
  const span = document.createElement("small"), part = (at ? "…" : "") + text.slice(at, at + 180);
  const re = new RegExp("(" + terms.map(t => t.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|") + ")", "giu");
  part.split(re).forEach((s, i) => { const n = document.createElement(i % 2 ? "mark" : "span"); n.textContent = s; span.append(n); });
  return span;
}
function show() {
  if (!index) build();
  const q = input.value.trim();
  let found = q ? index.search(q) : [];
  if (q && !found.length) found = index.search(q, { combineWith: "OR" });
  hits.replaceChildren(...found.slice(0, 12).map(h => {
    const li = document.createElement("li"), a = document.createElement("a");
    a.href = root + h.url;
    a.append(h.page === h.head ? h.page : h.page + " › " + h.head, snippet(h.text || h.head, h.terms));
    li.append(a);
    return li;
  }));
  if (q && !found.length) hits.textContent = "Nothing found.";
  hits.hidden = !q;
}
input.addEventListener("input", show);
document.addEventListener("keydown", e => {
  if (e.key === "/" && document.activeElement !== input) { e.preventDefault(); input.focus(); }
  if (e.key === "Escape") { hits.hidden = true; }
  if (e.key === "Enter" && document.activeElement === input) hits.querySelector("a")?.click();
  if ((e.key === "ArrowDown" || e.key === "ArrowUp") && !hits.hidden) {
    const all = [...hits.querySelectorAll("a")], i = all.indexOf(document.activeElement) + (e.key === "ArrowDown" ? 1 : -1);
    (all[i] || input).focus(); e.preventDefault();
  }
});
document.addEventListener("click", e => { if (!e.target.closest("header")) hits.hidden = true; });
