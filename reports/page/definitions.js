// Shows what a number means where the pointer or the keyboard focus is: on a head, a term, or a cell of a table.
const tip = document.createElement("div");
tip.id = "tip";
tip.setAttribute("role", "tooltip");
tip.hidden = true;
document.body.append(tip);

const defined = [...document.querySelectorAll("[data-definition]")];
for (const element of defined) {
  if (!document.getElementById(element.dataset.definition)) continue;
  element.setAttribute("aria-describedby", element.dataset.definition);
  // Buttons have focus by themselves.
  if (element.tagName !== "BUTTON") element.tabIndex = 0;
}

// The head of a cell's column says what the cell means.
function definition_of(target) {
  const element = target.closest?.("[data-definition]");
  if (element) return { at: element, name: "", id: element.dataset.definition };
  const cell = target.closest?.("tbody td");
  if (!cell) return null;
  const table = cell.closest("table");
  const head = table.tHead.rows[table.tHead.rows.length - 1].cells[cell.cellIndex];
  const title = head?.querySelector("[data-definition]");
  if (!title) return null;
  const row = cell.parentElement.cells[0].firstChild?.textContent ?? "";
  return { at: cell, name: `${row}, ${title.innerText.replaceAll("\n", " ")}: ${cell.textContent}. `, id: title.dataset.definition };
}

function place(at) {
  const box = at.getBoundingClientRect();
  const width = Math.min(360, document.documentElement.clientWidth - 16);
  tip.style.maxWidth = `${width}px`;
  const left = Math.min(box.left, document.documentElement.clientWidth - tip.offsetWidth - 8);
  const below = box.bottom + 6;
  const top = below + tip.offsetHeight > window.innerHeight ? box.top - tip.offsetHeight - 6 : below;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${Math.max(4, top)}px`;
}

let found = null;

function show(event) {
  found = definition_of(event.target);
  const text = found && document.getElementById(found.id)?.textContent;
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = found.name + text;
  place(found.at);
}

function hide() {
  found = null;
  tip.hidden = true;
}

// It stays beside what it explains.
function follow() {
  if (found && !tip.hidden) place(found.at);
}

document.addEventListener("mouseover", show);
document.addEventListener("focusin", show);
document.addEventListener("focusout", hide);
document.addEventListener("scroll", follow, true);
document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
