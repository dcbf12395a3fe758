// Search in the pages' own words, and the menu on small screens.
"use strict";
const up = document.body.dataset.up;
const box = document.getElementById("q");
const hits = document.getElementById("hits");

function found(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  return (window.pages || [])
    .map((page) => {
      const title = page.t.toLowerCase();
      const body = page.w.toLowerCase();
      if (!words.every((word) => title.includes(word) || body.includes(word))) return null;
      return { page, score: words.filter((word) => title.includes(word)).length, at: body.indexOf(words[0]) };
    })
    .filter(Boolean)
    .sort((one, other) => other.score - one.score)
    .slice(0, 8);
}

box.addEventListener("input", () => {
  const list = found(box.value);
  hits.replaceChildren();
  hits.hidden = !box.value.trim();
  if (!list.length) {
    const none = document.createElement("p");
    none.textContent = "Nothing found.";
    hits.append(none);
  }
  for (const { page, at } of list) {
    const link = document.createElement("a");
    link.href = up + page.a;
    const title = document.createElement("strong");
    title.textContent = page.t;
    const part = document.createElement("span");
    part.textContent = page.w.slice(Math.max(at - 40, 0), Math.max(at - 40, 0) + 110);
    link.append(title, part);
    hits.append(link);
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) { event.preventDefault(); box.focus(); }
  if (event.key === "Escape") { hits.hidden = true; document.body.classList.remove("open"); }
});
const menu = document.getElementById("menu");
menu.addEventListener("click", () => menu.setAttribute("aria-expanded", String(document.body.classList.toggle("open"))));
