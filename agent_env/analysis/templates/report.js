"use strict";
// What is folded opens where a link leads into it.
const unfold = () => {
  const at = document.getElementById(location.hash.slice(1)), around = at?.closest("details");
  if (around) { around.open = true; at.scrollIntoView(); }
};
addEventListener("hashchange", unfold);
unfold();
// Tables sort by a click on a heading, and show only the rows that hold what is typed.
const order = (one, other) => {
  if (one === "" || other === "") return (one === "") - (other === "");
  const numbers = Number(one) - Number(other);
  return Number.isNaN(numbers) ? one.localeCompare(other) : numbers;
};
document.addEventListener("click", (event) => {
  const head = event.target.closest("th button")?.parentElement;
  if (!head) return;
  const heads = [...head.parentElement.children], at = heads.indexOf(head);
  const numeric = head.classList.contains("n"), was = head.getAttribute("aria-sort");
  const down = was ? was === "ascending" : numeric;
  heads.forEach((each) => each.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const body = head.closest("table").tBodies[0];
  const weight = (row) => row.cells[at].dataset.w;
  const unknownLast = (one, other) => (weight(one) === "" || weight(other) === "") ? 1 : (down ? -1 : 1);
  body.append(...[...body.rows].sort((one, other) => unknownLast(one, other) * order(weight(one), weight(other))));
});
document.addEventListener("input", (event) => {
  const wanted = event.target.value.toLowerCase();
  const table = event.target.closest(".table");
  for (const row of table.querySelectorAll("tbody tr")) row.hidden = !row.textContent.toLowerCase().includes(wanted);
});
