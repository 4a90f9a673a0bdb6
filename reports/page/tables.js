// Tables sort by a click on a head, filter by text, hide columns, and say where they are wider than the screen.

// "1,234 (2.5%)" is 1234 and "4.56M" is 4560000; what is no number comes last.
function number_of(text) {
  const found = text.replaceAll(",", "").match(/^[<+]?(-?\d+(?:\.\d+)?)\s*([kKMBT])?/);
  if (!found) return null;
  return Number(found[1]) * ({ k: 1e3, K: 1024, M: 1e6, B: 1e9, T: 1e12 }[found[2]] ?? 1);
}

function compare_cells(a, b) {
  const [x, y] = [number_of(a), number_of(b)];
  if (x !== null && y !== null) return x - y;
  if (x === null && y === null) return a.localeCompare(b, "en", { numeric: true });
  return 0; // told apart by sorted_rows()
}

const text_of = (row, column) => row.cells[column].textContent.trim();

// Rows without a number stay behind those with one, in both directions.
function sorted_rows(rows, column, descending) {
  const has_numbers = rows.some((row) => number_of(text_of(row, column)) !== null) && column > 0;
  const rank = (row) => (has_numbers && number_of(text_of(row, column)) === null ? 1 : 0);
  return [...rows].sort((a, b) => {
    if (rank(a) !== rank(b)) return rank(a) - rank(b);
    const order = compare_cells(text_of(a, column), text_of(b, column));
    return descending ? -order : order;
  });
}

function make_sortable(table, heads, body) {
  const original = [...body.rows];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.childNodes);
    if (head.dataset.definition) {
      button.dataset.definition = head.dataset.definition;
      delete head.dataset.definition;
    }
    head.append(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const next = { none: "ascending", ascending: "descending", descending: "none" };
      const order = next[head.getAttribute("aria-sort")];
      heads.forEach((other) => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", order);
      const rows = order === "none" ? original : sorted_rows(original, column, order === "descending");
      body.append(...rows);
    });
  });
}

function filter_box(body, name) {
  const label = document.createElement("label");
  const box = document.createElement("input");
  const count = document.createElement("span");
  box.type = "search";
  box.size = 14;
  count.setAttribute("role", "status");
  label.append("Filter by name ", box);
  box.setAttribute("aria-label", `Filter by name: ${name}`);
  const show = () => {
    const wanted = box.value.trim().toLowerCase();
    let shown = 0;
    for (const row of body.rows) {
      row.hidden = !text_of(row, 0).toLowerCase().includes(wanted);
      shown += row.hidden ? 0 : 1;
    }
    count.textContent = wanted ? `${shown} of ${body.rows.length} rows` : "";
  };
  box.addEventListener("input", show);
  return [label, count];
}

// Group heads span the columns of theirs that are shown.
function set_group_spans(table, heads) {
  const groups = table.tHead.querySelector("tr.groups");
  if (!groups) return;
  let column = 1;
  for (const cell of [...groups.cells].slice(1)) {
    cell.dataset.span ??= cell.colSpan;
    const members = heads.slice(column, column + Number(cell.dataset.span));
    const shown = members.filter((head) => !head.hidden).length;
    cell.hidden = shown === 0;
    cell.colSpan = Math.max(1, shown);
    column += members.length;
  }
}

// Its words, also where the table is folded away: there it has no innerText.
const title_of = (head) => [...(head.querySelector("button") ?? head).childNodes]
  .map((node) => node.textContent.trim()).filter(Boolean).join(" ");

function column_menu(table, heads, body) {
  const menu = document.createElement("details");
  const title = document.createElement("summary");
  const list = document.createElement("div");
  menu.className = "columns";
  title.textContent = "Columns";
  menu.append(title, list);
  heads.forEach((head, column) => {
    if (column === 0) return;
    const label = document.createElement("label");
    const box = document.createElement("input");
    box.type = "checkbox";
    box.checked = true;
    label.append(box, ` ${title_of(head) || column}`);
    list.append(label);
    box.addEventListener("change", () => {
      head.hidden = !box.checked;
      for (const row of body.rows) row.cells[column].hidden = !box.checked;
      set_group_spans(table, heads);
      mark_overflows();
    });
  });
  return menu;
}

function mark_overflows() {
  for (const scroll of document.querySelectorAll(".scroll")) {
    scroll.toggleAttribute("data-overflows", scroll.scrollWidth > scroll.clientWidth);
  }
}

for (const table of document.querySelectorAll(".scroll > table:not(.plain)")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
  const tools = document.createElement("div");
  tools.className = "tools";
  make_sortable(table, heads, body);
  if (body.rows.length > 2) tools.append(...filter_box(body, table.parentElement.getAttribute("aria-label")));
  if (heads.length > 5) tools.append(column_menu(table, heads, body));
  const hint = document.createElement("span");
  hint.className = "hint";
  hint.textContent = "scroll sideways for more columns";
  tools.append(hint);
  table.parentElement.before(tools);
}
mark_overflows();
new ResizeObserver(mark_overflows).observe(document.body);
