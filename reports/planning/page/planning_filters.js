// The filters: which points the page shows. The form holds the state; the address holds what differs from the
// start, so that a view can be shared.
const kMostChoices = 16;
const kLongestLabel = 60; // characters
const filters_form = document.querySelector("#filters form");
const filters = [];
// Each writes itself into the parameters of an address where it is not as at the start, and takes itself from them.
const kept = [];

function fieldset(title, ...children) {
  const made = element("fieldset", {}, element("legend", {}, title), ...children);
  filters_form.append(made);
  return made;
}

function keep(name, input, at_start = input.value) {
  kept.push({
    write: (parameters) => { if (input.value !== at_start) parameters.append(name, input.value); },
    read: (parameters) => { input.value = parameters.get(name) ?? at_start; },
  });
}

function keep_box(name, box, at_start) {
  kept.push({
    write: (parameters) => { if (box.checked !== at_start) parameters.append(name, box.checked ? "1" : "0"); },
    read: (parameters) => { box.checked = parameters.has(name) ? parameters.get(name) === "1" : at_start; },
  });
}

function number_input(label, placeholder = "any") {
  return element("input", { type: "number", step: "any", "aria-label": label, placeholder });
}

// A box for each value.
function add_choices(column) {
  const codes = column.values.map((_, code) => code).sort((a, b) => column.compare_values(column.values[a], column.values[b]));
  const boxes = codes.map((code) => element("input", { type: "checkbox", checked: true, value: String(code) }));
  const all = element("button", { type: "button", class: "all", "aria-label": `all / none, ${column.title}` }, "all / none");
  const set = fieldset(column.title, ...boxes.map((box, at) => element("label", {}, box, ` ${shortened(column.value_text(column.values[codes[at]]), kLongestLabel)}`)));
  if (boxes.length > 2) set.append(all);
  all.addEventListener("click", () => {
    const checked = !boxes.every((box) => box.checked);
    for (const box of boxes) box.checked = checked;
    filters_form.dispatchEvent(new Event("change"));
  });
  filters.push((mask) => {
    if (boxes.every((box) => box.checked)) return;
    const allowed = new Uint8Array(column.values.length);
    boxes.forEach((box, at) => { allowed[codes[at]] = box.checked; });
    for (let i = 0; i < n_points; ++i) mask[i] &= allowed[column.codes[i]];
  });
  const text_of = (at) => String(column.values[codes[at]]);
  kept.push({
    write: (parameters) => {
      if (boxes.every((box) => box.checked)) return;
      const checked = boxes.flatMap((box, at) => (box.checked ? [text_of(at)] : []));
      if (checked.length === 0) parameters.append(`none.${column.key}`, "1");
      for (const text of checked) parameters.append(`is.${column.key}`, text);
    },
    read: (parameters) => {
      const wanted = new Set(parameters.getAll(`is.${column.key}`));
      const is_none = parameters.has(`none.${column.key}`);
      boxes.forEach((box, at) => { box.checked = !is_none && (wanted.size === 0 || wanted.has(text_of(at))); });
    },
  });
}

// A number with many values is limited by from and to.
function add_range(column) {
  const known = [...(column.values ?? column.values_at)].filter((value) => value !== null && !Number.isNaN(value));
  const least = known.reduce((a, b) => Math.min(a, b), Infinity);
  const most = known.reduce((a, b) => Math.max(a, b), -Infinity);
  const from = number_input(`${column.title}, from`, exact(least));
  const to = number_input(`${column.title}, to`, exact(most));
  fieldset(column.title, element("div", { class: "range" }, from, " to ", to));
  keep(`from.${column.key}`, from);
  keep(`to.${column.key}`, to);
  filters.push((mask) => {
    if (from.value === "" && to.value === "") return;
    const low = from.value === "" ? -Infinity : from.valueAsNumber;
    const high = to.value === "" ? Infinity : to.valueAsNumber;
    for (let i = 0; i < n_points; ++i) mask[i] &= column.values_at[i] >= low && column.values_at[i] <= high;
  });
}

// A part of the text, for a text with many values.
function add_search(column) {
  const search = element("input", { type: "search", placeholder: "contains", "aria-label": `${column.title} contains` });
  fieldset(column.title, search);
  keep(`has.${column.key}`, search);
  filters.push((mask) => {
    if (search.value === "") return;
    const wanted = search.value.toLowerCase();
    const found = column.values.map((value) => String(value).toLowerCase().includes(wanted));
    for (let i = 0; i < n_points; ++i) mask[i] &= found[column.codes[i]];
  });
}

function add_filter(column) {
  if (!column.has_values()) return;
  if (column.values && column.values.length <= kMostChoices) {
    if (column.values.length > 1) add_choices(column);
  } else if (column.is_text) {
    add_search(column);
  } else {
    add_range(column);
  }
}

// These limit hours, GPUs and money, as `packsim recommend` does. At first they are what it was asked for.
function add_limits() {
  const limited = [hours, columns.get("@money"), gpu_days, n_gpus].filter((column) => column.has_values());
  const inputs = limited.map((column) => number_input(`at most, ${column.title}`));
  limited.forEach((column, at) => { inputs[at].value = planning.limits?.[column.key] ?? ""; });
  const careful = element("input", { type: "checkbox", checked: true });
  fieldset("At most", ...limited.map((column, at) => element("label", { class: "limit" }, `${column.title} `, inputs[at])),
           element("label", {}, careful, " with 90% confidence"));
  limited.forEach((column, at) => keep(`most.${column.key}`, inputs[at]));
  keep_box("careful", careful, true);
  filters.push((mask) => {
    limited.forEach((column, at) => {
      if (inputs[at].value === "") return;
      const most = inputs[at].valueAsNumber;
      const high = columns.get(`${column.key}_high`);
      const judged = careful.checked && high?.has_values() ? high : column;
      for (let i = 0; i < n_points; ++i) mask[i] &= judged.values_at[i] <= most;
    });
  });
}

// One reason that points are not compared for.
function add_reason() {
  if (planning.reason_classes.length === 0) return null;
  const select = element("select", { "aria-label": "reason" }, element("option", { value: "" }, "any"));
  planning.reason_classes.forEach(({ standing, example }, at) => {
    select.append(element("option", { value: String(at) }, shortened(`${standing}: ${example}`, kLongestLabel)));
  });
  fieldset("Not compared because", select);
  keep("reason", select);
  const reason_class = Int32Array.from(planning.reason_class);
  filters.push((mask) => {
    if (select.value === "") return;
    const wanted = Number(select.value);
    for (let i = 0; i < n_points; ++i) mask[i] &= reason_class[i] === wanted;
  });
  return select;
}

add_limits();
for (const column of settings) add_filter(column);
add_filter(columns.get("@standing"));
const reason_select = add_reason();
const reset_button = element("button", { type: "button", id: "reset" }, "Reset all filters");
filters_form.append(reset_button);
filters_form.addEventListener("submit", (event) => event.preventDefault());

// 1 for each point that all filters leave.
function filtered_mask() {
  const mask = new Uint8Array(n_points).fill(1);
  for (const apply of filters) apply(mask);
  return mask;
}
