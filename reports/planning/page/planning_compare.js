// Two points side by side: what of them differs.
const compare_body = document.querySelector("#compare .body");
for (const which of ["a", "b"]) {
  kept.push({
    write: (parameters) => { if (current.is_chosen[which]) parameters.append(which, columns.get("@point").text(current[which])); },
    read: (parameters) => {
      const wanted = parameters.get(which);
      const point = columns.get("@point");
      const found = wanted === null ? -1 : point.order().findIndex((i) => point.text(i) === wanted);
      current.is_chosen[which] = found >= 0;
      if (found >= 0) current[which] = point.order()[found];
    },
  });
}

// Takes a point as A or B.
function choose(which, point) {
  current[which] = point;
  current.is_chosen[which] = true;
  show_comparison();
  show_table();
  show_chart("front");
  write_address();
}

// The cheapest and the fastest of those that are shown stand in for a choice.
function choose_usual() {
  const { front } = current;
  if (!current.is_chosen.a) current.a = front.length ? front[front.length - 1] : null;
  if (!current.is_chosen.b) current.b = front.length > 1 ? front[0] : null;
}

function ratio_text(column, a, b) {
  const ratio = column.number(b) / column.number(a);
  return Number.isFinite(ratio) && column.number(a) > 0 ? `${quantity(ratio)}x` : "-";
}

// "B takes 1.4 times the hours and 0.8 times the money of A."
function comparison_sentence(a, b) {
  if (!is_compared[a] || !is_compared[b]) return "At least one of the two is not compared: their numbers are not of the same job.";
  const overlaps = (column) => {
    const [low, high] = ["_low", "_high"].map((end) => columns.get(column.key + end));
    return low.number(a) <= high.number(b) && low.number(b) <= high.number(a);
  };
  const doubt = overlaps(hours) || overlaps(cost) ? " Their 90% intervals overlap." : "";
  return `B takes ${ratio_text(hours, a, b)} the hours and ${ratio_text(cost, a, b)} the ${cost.title} of A.${doubt}`;
}

function show_comparison() {
  const { a, b } = current;
  if (a === null || b === null) {
    compare_body.replaceChildren(element("p", { class: "note" }, "Only one point is on the front: choose A and B in the table."));
    return;
  }
  const rows = [];
  for (const column of all_columns) {
    if (is_interval(column) || column.key === "@point") continue;
    const shown = (i) => (is_amount(column) ? amount_text(column, i) : column.text(i));
    const is_always_shown = is_amount(column) || column === n_gpus || column.key === "@peak_memory_bytes" || column === strategy;
    if (shown(a) === "-" && shown(b) === "-") continue;
    if (shown(a) === shown(b) && !is_always_shown) continue;
    const title = column.unit && !is_amount(column) ? `${column.title}, ${column.unit}` : column.title;
    const is_choice = ["@sp", "@gc", "@zero_stage"].includes(column.key);
    const has_ratio = !column.is_text && !is_choice && (column.role === "result" || column.role === "further" || column === n_gpus);
    rows.push(element("tr", {}, element("th", { scope: "row" }, title), element("td", { class: "text" }, shown(a)),
                      element("td", { class: "text" }, shown(b)), element("td", {}, has_ratio ? ratio_text(column, a, b) : "")));
  }
  const number = columns.get("@point");
  const heads = ["what differs", `A: point ${number.text(a)}`, `B: point ${number.text(b)}`, "B / A"]
    .map((title, at) => element("th", { scope: "col", class: at < 3 ? "text" : "" }, title));
  compare_body.replaceChildren(
    element("p", {}, comparison_sentence(a, b)),
    element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Two points side by side" },
            element("table", { class: "plain pair_of_points" }, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows))));
  mark_overflows();
}
