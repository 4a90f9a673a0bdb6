// Tables as a person sees them: rows and columns of what is shown, with merged cells in every place that they cover.
const shownRows = (part) => [...part.rows].filter((row) => row.checkVisibility());
const gridOf = (rows) => {
  const grid = rows.map(() => []);
  for (const [r, row] of rows.entries()) {
    let c = 0;
    for (const cell of row.cells) {
      if (!cell.checkVisibility()) continue;
      while (grid[r][c]) c += 1;
      for (let i = 0; i < cell.rowSpan && r + i < rows.length; i += 1) {
        for (let j = 0; j < cell.colSpan; j += 1) grid[r + i][c + j] = cell;
      }
      c += cell.colSpan;
    }
  }
  return grid;
};
// Not the one of settings, which has too few rows to sort and filter.
const tables = () => [...document.querySelectorAll(".scroll table:not(.plain)")];
const headsOf = (table) => gridOf(shownRows(table.tHead)).at(-1) ?? [];
const bodyOf = (table) => gridOf([...table.tBodies].flatMap(shownRows));
// What a reader calls the column: the head without its unit, marks and definition.
const textOf = (cell) => (cell.innerText ?? "").trim().replace(/\s+/g, " ");

// A column that sorts says how it is sorted: aria-sort is "none" where it is not.
const sorterOf = (head) => head.querySelector("button, [role=button]") ?? head;

// [[table, column, head]] of the columns that sort; the table and the column are given by their numbers.
check.sortableColumns = () => tables().flatMap((table, t) => headsOf(table)
  .flatMap((head, c) => head.hasAttribute("aria-sort") ? [[t, c, textOf(head)]] : []));
check.sorter = (t, c) => sorterOf(headsOf(tables()[t])[c]);
check.sortState = (t, c) => headsOf(tables()[t])[c].getAttribute("aria-sort");
check.column = (t, c) => bodyOf(tables()[t]).map((row) => textOf(row[c]));
check.rowNames = (t) => bodyOf(tables()[t]).map((row) => textOf(row[0]));
check.table = (t) => tables()[t];
check.heads = (t) => headsOf(tables()[t]).map(textOf);
check.nTables = () => tables().length;

// Cells that are not below their head, and rows that have more or fewer cells than there are heads.
check.misplacedCells = (t) => {
  const heads = headsOf(tables()[t]);
  const wrong = [];
  for (const row of bodyOf(tables()[t])) {
    const name = textOf(row[0]);
    if (row.length !== heads.length) wrong.push(`${name}: ${row.length} cells under ${heads.length} heads`);
    for (const [c, cell] of row.entries()) {
      const shift = heads[c] ? Math.abs(cell.getBoundingClientRect().left - heads[c].getBoundingClientRect().left) : Infinity;
      if (shift > 1) wrong.push(`${name}, ${heads[c] ? textOf(heads[c]) : "no head"}: ${shift.toFixed(1)} px beside its head`);
    }
  }
  return wrong;
};

// Opens every part that can be opened, as controls may be inside.
check.openAll = () => document.querySelectorAll("details").forEach((details) => {
  if (!details.closest("figure")) details.open = true;
});
