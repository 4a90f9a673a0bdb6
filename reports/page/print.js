// Paper cannot scroll: for print, tables that are too wide become several that fit below each other, each with
// the names of the rows, and charts get the width of the paper.
const kPaper_px = 1000; // A4 landscape without its margins
const on_paper = window.matchMedia("print");

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

function prepare() {
  if (document.querySelector(".on-paper")) return;
  window.packsim_set_chart_width?.(kPaper_px);
  for (const scroll of document.querySelectorAll(".scroll")) {
    const table = scroll.querySelector("table");
    const parts = column_parts(table, kPaper_px);
    const paper = document.createElement("div");
    paper.className = "on-paper";
    paper.append(...parts.map((columns) => part_of(table, columns, parts.length === 1)));
    scroll.after(paper);
    scroll.classList.add("only-on-screen");
  }
}

function restore() {
  for (const paper of document.querySelectorAll(".on-paper")) paper.remove();
  for (const scroll of document.querySelectorAll(".only-on-screen")) scroll.classList.remove("only-on-screen");
  window.packsim_set_chart_width?.();
}

window.addEventListener("beforeprint", prepare);
window.addEventListener("afterprint", restore);
on_paper.addEventListener("change", () => (on_paper.matches ? prepare() : restore()));
