// The points as a table: a page of rows at a time, sorted by any column.
const kRowsOfPage = 25;
const kLongText = 28; // characters; longer ones are broken
const points_body = document.querySelector("#points_section .body");
const table_columns = [columns.get("@point"), ...settings, n_gpus, hours, columns.get("@money"), gpu_days,
                       columns.get("@peak_memory_bytes"), columns.get("@standing")]
  .filter((column) => column?.has_values());
const sorting = { key: cost.key, is_descending: false, page: 0 };
kept.push({
  write: (parameters) => {
    if (sorting.key !== cost.key || sorting.is_descending) parameters.append("sort", (sorting.is_descending ? "-" : "") + sorting.key);
    if (sorting.page > 0) parameters.append("page", String(sorting.page + 1));
  },
  read: (parameters) => {
    const text = parameters.get("sort") ?? cost.key;
    sorting.is_descending = text.startsWith("-");
    const key = text.replace(/^-/, "");
    sorting.key = table_columns.some((column) => column.key === key) ? key : cost.key;
    sorting.page = Math.max(0, (Number.parseInt(parameters.get("page"), 10) || 1) - 1);
  },
});

const table_heads = table_columns.map((column) => {
  const button = element("button", { type: "button", class: "sort" }, column.title);
  const head = element("th", { scope: "col", "aria-sort": "none", class: column.is_text ? "text" : "" }, button);
  if (column.unit) button.append(element("span", { class: "unit" }, column.unit));
  button.addEventListener("click", () => {
    sorting.is_descending = sorting.key === column.key && !sorting.is_descending;
    sorting.key = column.key;
    sorting.page = 0;
    show_table();
    write_address();
  });
  return head;
});
const table_rows = element("tbody");
const table_region = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Points" },
                             element("table", {}, element("thead", {}, element("tr", {}, element("th", { scope: "col", class: "text" }, "compare"), ...table_heads)), table_rows));
const page_output = element("output");
const page_buttons = ["first", "previous", "next", "last"].map((name) => element("button", { type: "button" }, name));
points_body.append(element("div", { class: "tools pages" }, ...page_buttons, page_output), table_region);

const n_pages = () => Math.max(1, Math.ceil(current.points.length / kRowsOfPage));
page_buttons.forEach((button, at) => button.addEventListener("click", () => {
  sorting.page = [0, sorting.page - 1, sorting.page + 1, n_pages() - 1][at];
  show_table();
  write_address();
}));

// The points of the page that is shown.
function sorted_page() {
  const order = columns.get(sorting.key).order();
  const { rank } = columns.get(sorting.key);
  const known = order.filter((i) => current.mask[i] && rank[i] !== Infinity);
  if (sorting.is_descending) known.reverse();
  const unknown = order.filter((i) => current.mask[i] && rank[i] === Infinity);
  const start = sorting.page * kRowsOfPage;
  return Array.from({ length: Math.max(0, Math.min(kRowsOfPage, current.points.length - start)) },
                    (_, k) => (start + k < known.length ? known[start + k] : unknown[start + k - known.length]));
}

function choice_button(which, point) {
  const is_chosen = current[which] === point;
  const button = element("button", { type: "button", class: "choice", "aria-pressed": String(is_chosen),
                                     "aria-label": `take point ${columns.get("@point").text(point)} as ${which.toUpperCase()}` }, which.toUpperCase());
  button.addEventListener("click", () => {
    choose(which, point);
    table_rows.querySelector(`[data-point="${point}"] [data-which="${which}"]`)?.focus();
  });
  button.dataset.which = which;
  return button;
}

function cell_of(column, point) {
  const text = column.text(point);
  const cell = element("td", { class: column.is_text ? `text${text.length > kLongText ? " long" : ""}` : "" }, text);
  if (column === strategy && is_other_job[point])
    cell.append(" ", element("span", { class: "tag", title: columns.get("@reason").text(point) }, "!"));
  if (is_amount(column) && cell.textContent !== "-") cell.title = amount_text(column, point);
  return cell;
}

function show_table() {
  sorting.page = Math.max(0, Math.min(sorting.page, n_pages() - 1));
  const on_front = new Set(current.front);
  table_rows.replaceChildren(...sorted_page().map((point) => {
    const row = element("tr", { class: on_front.has(point) ? "best" : "", "data-point": String(point) },
                        element("td", { class: "text" }, choice_button("a", point), choice_button("b", point)));
    row.append(...table_columns.map((column) => cell_of(column, point)));
    return row;
  }));
  table_columns.forEach((column, at) => {
    const sorts = sorting.key === column.key;
    table_heads[at].setAttribute("aria-sort", sorts ? (sorting.is_descending ? "descending" : "ascending") : "none");
  });
  const first = sorting.page * kRowsOfPage;
  const last = Math.min(first + kRowsOfPage, current.points.length);
  const number = (value) => value.toLocaleString("en-US");
  page_output.textContent = current.points.length === 0 ? "No point passes the filters."
    : `${number(first + 1)} to ${number(last)} of ${number(current.points.length)}; bold: on the front`;
  page_buttons.forEach((button, at) => { button.disabled = at < 2 ? sorting.page === 0 : sorting.page >= n_pages() - 1; });
  mark_overflows();
}

function mark_overflows() {
  for (const region of document.querySelectorAll(".scroll")) region.toggleAttribute("data-overflows", region.scrollWidth > region.clientWidth);
}
new ResizeObserver(mark_overflows).observe(document.body);

// Why points cannot be compared: a line for each reason, with how many of the shown points have it.
const reasons_body = document.querySelector("#reasons .body");
const kMostReasons = 20;
function show_reasons() {
  const counts = new Uint32Array(planning.reason_classes.length);
  for (const i of current.points) if (planning.reason_class[i] >= 0) ++counts[planning.reason_class[i]];
  const listed = [...counts.keys()].filter((at) => counts[at] > 0);
  if (listed.length === 0) {
    reasons_body.replaceChildren(element("p", { class: "note" }, "All points that the filters leave can be compared."));
    return;
  }
  const rows = listed.slice(0, kMostReasons).map((at) => {
    const { standing, example } = planning.reason_classes[at];
    const button = element("button", { type: "button", "aria-label": `show the points of reason ${at + 1}` }, "show them");
    button.addEventListener("click", () => {
      reason_select.value = String(at);
      apply_filters();
      document.getElementById("points_section").scrollIntoView();
    });
    return element("tr", {}, element("td", {}, counts[at].toLocaleString("en-US")), element("td", { class: "text" }, standing),
                   element("td", { class: "text reason" }, example), element("td", { class: "text" }, button));
  });
  const head = ["points", "standing", "reason of the first", ""].map((title, at) => (title ? element("th", { scope: "col", class: at ? "text" : "" }, title) : element("td")));
  const table = element("table", { class: "plain" }, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
  reasons_body.replaceChildren(element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Reasons" }, table));
  if (listed.length > kMostReasons) reasons_body.append(element("p", { class: "note" }, `and ${listed.length - kMostReasons} more reasons`));
  mark_overflows();
}
