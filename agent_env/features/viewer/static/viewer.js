"use strict";
// Light or dark first, before anything is painted.
const root = document.documentElement;
try { if (localStorage.theme) root.dataset.theme = localStorage.theme; } catch { /* not kept */ }

function changeTheme() {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try { localStorage.theme = root.dataset.theme; } catch { /* not kept */ }
}

const all = (query) => [...document.querySelectorAll(query)];
const one = (query) => document.querySelector(query);

// Rows: j and k move, Enter opens, x chooses.
function move(by) {
  const rows = all("[data-row]");
  if (!rows.length) return;
  const at = rows.findIndex((row) => row.classList.contains("at"));
  const to = at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by));
  if (at >= 0) rows[at].classList.remove("at");
  rows[to].classList.add("at");
  rows[to].scrollIntoView({ block: rows[to].matches("tr") ? "nearest" : "start" });
}
const follow = (query) => { const link = one(query); if (link) location.href = link.href; };

function choose() {
  const box = one(".at input[type=checkbox]");
  if (box) { box.checked = !box.checked; markChosen(); }
}
function markChosen() {
  all("[data-choose]").forEach((form) => {
    const chosen = form.querySelectorAll("input:checked").length;
    const button = form.querySelector(".compare");
    button.disabled = chosen < 2 || chosen > 6;
    button.textContent = chosen ? `Side by side (${chosen})` : "Side by side";
  });
}
function fold() {
  const texts = all("main details");
  const open = texts.some((each) => !each.open);
  texts.forEach((each) => { each.open = open; });
}

const keys = {
  j: () => move(1), k: () => move(-1), x: choose, e: fold, t: changeTheme,
  n: () => follow("a[rel=next]"), p: () => follow("a[rel=prev]"),
  Enter: () => { const link = one(".at a[data-open]"); if (link) location.href = link.href; },
  c: () => { const form = one("[data-choose]"); if (form && !form.querySelector(".compare").disabled) form.requestSubmit(); },
  "/": () => { const field = one(".filters input, .filters select"); if (field) field.focus(); },
  u: () => { const link = one("[data-up]") || one(".home"); if (link) location.href = link.href; },
  "?": () => one("dialog.keys").showModal(),
};
addEventListener("keydown", (event) => {
  const field = event.target.closest("input:not([type=checkbox]), select, textarea, dialog");
  if (field) { if (event.key === "Escape") field.blur(); return; }
  if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
  if (event.key === "Enter" && event.target.closest("a, button, summary")) return;
  event.preventDefault();
  keys[event.key]();
});

addEventListener("click", (event) => {
  const button = event.target.closest("[data-do]");
  if (button) keys[button.dataset.do === "theme" ? "t" : "?"]();
});
addEventListener("change", (event) => {
  if (event.target.closest("[data-choose]")) markChosen();
  else if (event.target.closest("[data-auto]")) event.target.form.requestSubmit();
});
addEventListener("submit", (event) => { // empty fields stay out of the address
  if (event.target.matches("[data-auto]")) {
    for (const field of event.target.elements) if (field.name && !field.value) field.disabled = true;
  }
});
addEventListener("pageshow", () => { all("[data-auto] :disabled").forEach((each) => { each.disabled = false; }); markChosen(); });

// Live: ask for a short word, and fetch the page again where it has changed.
const LIVE_MS = 2000, QUIET_MS = 15000;
let stamp = null;
async function look() {
  let live = false;
  try {
    if (!document.hidden) {
      const found = await (await fetch(document.body.dataset.state)).json();
      live = found.live || found.soon;
      one(".live").hidden = !found.live;
      if (found.stamp !== stamp) { await renew(); stamp = found.stamp; }
    } else live = true;
  } catch { /* the viewer has ended; it may come back */ }
  setTimeout(look, live ? LIVE_MS : QUIET_MS);
}
async function renew() {
  const busy = document.activeElement;
  if (busy && busy.matches(".filters *")) return;
  const answer = await fetch(location.href);
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main");
  const open = all("main details").map((each) => each.open);
  const chosen = new Set(all("main input:checked").map((each) => each.value));
  const at = all("[data-row]").findIndex((row) => row.classList.contains("at"));
  const y = scrollY;
  one("main").replaceWith(document.adoptNode(fresh));
  all("main details").forEach((each, i) => { if (i < open.length) each.open = open[i]; });
  all("main input[type=checkbox]").forEach((each) => { each.checked = chosen.has(each.value); });
  if (at >= 0 && all("[data-row]")[at]) all("[data-row]")[at].classList.add("at");
  scrollTo(0, y);
  markChosen();
}
addEventListener("DOMContentLoaded", () => {
  markChosen();
  stamp = document.body.dataset.stamp ?? null;
  if (document.body.dataset.state) setTimeout(look, 500);
});
