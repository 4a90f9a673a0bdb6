// Paper cannot scroll: for print, tables that are too wide become several that fit below each other, each with
// the names of the rows. Charts get the width of the paper, and one that is too high for a page goes on the next.
const kPaper_px = 1000; // A4 landscape without its margins
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

// Pieces of at most a page, [top, bottom], that end where a chart may be cut.
function chart_pieces(ends, height_px) {
  const pieces = [];
  let top = 0;
  for (const [row, end] of ends.slice(0, -1).entries()) {
    const is_last_that_fits = ends[row + 1] - top > kChart_px;
    if (!is_last_that_fits) continue;
    pieces.push([top, end]);
    top = end;
  }
  return [...pieces, [top, height_px]];
}

function piece_of(svg, [top, bottom]) {
  const piece = svg.cloneNode(true);
  piece.setAttribute("viewBox", `0 ${top} ${svg.getAttribute("width")} ${bottom - top}`);
  piece.setAttribute("height", bottom - top);
  return piece;
}

function cut_chart(figure) {
  const svg = figure.querySelector(".plot svg");
  const height_px = Number(svg?.getAttribute("height") ?? 0);
  if (height_px <= kChart_px) return;
  const paper = document.createElement("div");
  paper.className = "on-paper";
  paper.append(...chart_pieces(window.packsim_row_ends(figure), height_px).map((piece) => piece_of(svg, piece)));
  svg.before(paper);
  svg.classList.add("only-on-screen");
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
  document.querySelectorAll(".scroll").forEach(split_table);
  await window.packsim_fit_charts?.({ width_px: kPaper_px, height_px: kChart_px });
  if (!is_prepared) return;
  document.querySelectorAll("figure[data-chart]").forEach(cut_chart);
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
