// Paper cannot scroll: for print, tables that are too wide become several that fit below each other, each with
// the names of the rows. Charts get the width of the paper. What is folded away is not printed.
const kPaper_px = 960; // the narrower of A4 and Letter, landscape, without its margins
const kChart_px = 570; // what a page has below a heading, a caption and choices
const on_paper = window.matchMedia("print");
let is_prepared = false;

// Lists of columns, without the first, that fit beside it.
function column_parts(table, room_px) {
  const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
  const widths = heads.map((head) => head.getBoundingClientRect().width);
  const parts = [];
  let used = Infinity;
  widths.forEach((width, column) => {
    if (column === 0 || heads[column].hidden) return;
    if (used + width > room_px) {
      parts.push([]);
      used = widths[0];
    }
    parts.at(-1).push(column);
    used += width;
  });
  return parts;
}

// Heads that are repeated on the next page are drawn as text only.
function part_of(table, columns, is_whole) {
  const part = table.cloneNode(true);
  if (!is_whole) part.tHead.querySelector("tr.groups")?.remove();
  for (const button of part.querySelectorAll("button")) button.replaceWith(...button.childNodes);
  if (is_whole) return part;
  for (const row of part.rows) {
    [...row.cells].forEach((cell, column) => {
      if (column > 0 && !columns.includes(column)) cell.remove();
    });
  }
  return part;
}

function split_table(scroll) {
  const table = scroll.querySelector("table");
  const parts = column_parts(table, kPaper_px);
  const paper = document.createElement("div");
  paper.className = "on-paper";
  paper.append(...parts.map((columns) => part_of(table, columns, parts.length === 1)));
  scroll.after(paper);
  scroll.classList.add("only-on-screen");
}

// Vega draws in microtasks, which are done before a browser lays the page out for its printer.
async function prepare() {
  if (is_prepared) return;
  is_prepared = true;
  [...document.querySelectorAll(".scroll")].filter((scroll) => scroll.checkVisibility()).forEach(split_table);
  await window.packsim_fit_charts?.({ width_px: kPaper_px, height_px: kChart_px });
  if (!is_prepared) return;
  document.documentElement.dataset.paper = "ready"; // for who prints by a script
}

function restore() {
  if (!is_prepared) return;
  is_prepared = false;
  delete document.documentElement.dataset.paper;
  for (const paper of document.querySelectorAll(".on-paper")) paper.remove();
  for (const element of document.querySelectorAll(".only-on-screen")) element.classList.remove("only-on-screen");
  window.packsim_fit_charts?.();
}

window.addEventListener("beforeprint", prepare);
window.addEventListener("afterprint", restore);
on_paper.addEventListener("change", () => (on_paper.matches ? prepare() : restore()));
