// A map of two settings: the best point of each cell.
const heat_x = document.getElementById("heat_x");
const heat_y = document.getElementById("heat_y");
const heat_measure = document.getElementById("heat_measure");
const kMostCells = 24; // along an axis; numbers with more values are put together
const kCellLabel_px = 46;

// What can be an axis: settings, and what the plan of a point has in few values.
const heat_axes = [columns.get("@sp"), columns.get("@gc"), strategy, n_gpus, columns.get("@zero_stage"), ...settings]
  .filter((column, at, all) => column && all.indexOf(column) === at && column.has_values() && (!column.is_text || column.values.length <= 60));
const heat_measures = [columns.get("@money"), gpu_days, hours, columns.get("@step_mean_s")].filter((column) => column?.has_values());
const varies = (column) => !column.values || column.values.filter((value) => value !== null).length > 1;

// SP x GC where both vary, else what does; what was varied by the sweep comes before what follows from it.
function first_axes() {
  const usual = [columns.get("@sp"), columns.get("@gc")];
  const named = [settings.find((column) => column.key.includes("sp_degree")), settings.find((column) => column.key.includes("gc_layers"))];
  if (named.every((column) => column && varies(column))) return named;
  if (usual.every((column) => column && varies(column))) return usual;
  const varied = [n_gpus, strategy, ...heat_axes].filter((column, at, all) => varies(column) && heat_axes.includes(column) && all.indexOf(column) === at);
  return [varied[0] ?? heat_axes[0], varied[1] ?? heat_axes[1] ?? heat_axes[0]];
}

for (const select of [heat_x, heat_y])
  for (const column of heat_axes) select.append(element("option", { value: column.key }, column.title));
for (const column of heat_measures) heat_measure.append(element("option", { value: column.key }, column.title));
[heat_x.value, heat_y.value] = first_axes().map((column) => column.key);
keep("across", heat_x);
keep("down", heat_y);
keep("measure", heat_measure);

// The cell of each point along an axis: its label and place.
function cells_of(column) {
  if (column.cells) return column.cells;
  const order = column.order();
  const distinct = [];
  const at = new Int32Array(n_points).fill(-1);
  for (const i of order) {
    if (column.rank[i] === Infinity) continue;
    if (distinct.length === 0 || column.rank[distinct[distinct.length - 1]] !== column.rank[i]) distinct.push(i);
    at[i] = distinct.length - 1;
  }
  let labels = distinct.map((i) => column.text(i));
  if (!column.is_text && distinct.length > kMostCells) {
    const per_cell = Math.ceil(distinct.length / kMostCells);
    labels = Array.from({ length: Math.ceil(distinct.length / per_cell) }, (_, cell) => {
      const last = Math.min((cell + 1) * per_cell, distinct.length) - 1;
      return `${column.text(distinct[cell * per_cell])} to ${column.text(distinct[last])}`;
    });
    for (let i = 0; i < n_points; ++i) if (at[i] >= 0) at[i] = Math.floor(at[i] / per_cell);
  }
  column.cells = { labels, at };
  return column.cells;
}

// Colours go from light to dark; 0 is the worst.
const kScale = [[233, 238, 246], [120, 168, 219], [29, 72, 133]];
function shade(position) {
  const at = Math.min(position, 1) * (kScale.length - 1);
  const k = Math.min(Math.floor(at), kScale.length - 2);
  return kScale[k].map((value, c) => Math.round(value + (at - k) * (kScale[k + 1][c] - value)));
}

// What is read best on a colour: contrast by the rule of WCAG.
function ink_on(rgb) {
  const [r, g, b] = rgb.map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#10151c" : "#ffffff";
}

// The best point of each cell, and how many points have their place there.
function best_cells(x, y, measure) {
  const width = x.labels.length;
  const best = new Int32Array(width * y.labels.length).fill(-1);
  const count = new Uint32Array(best.length);
  for (const i of current.points) {
    if (x.at[i] < 0 || y.at[i] < 0) continue;
    const cell = y.at[i] * width + x.at[i];
    ++count[cell];
    if (is_compared[i] && measure.number(i) > 0 && (best[cell] < 0 || measure.number(i) < measure.number(best[cell]))) best[cell] = i;
  }
  return { best, count };
}

function heat_rows() {
  const x = cells_of(columns.get(heat_x.value));
  const y = cells_of(columns.get(heat_y.value));
  const measure = columns.get(heat_measure.value);
  const { best, count } = best_cells(x, y, measure);
  let least = Infinity;
  let most = 0;
  for (const i of best) {
    if (i < 0) continue;
    least = Math.min(least, measure.number(i));
    most = Math.max(most, measure.number(i));
  }
  const is_wide = (figure_of("heat").clientWidth - 130) / x.labels.length > kCellLabel_px;
  const rows = [];
  for (let cell = 0; cell < best.length; ++cell) {
    if (count[cell] === 0) continue;
    const i = best[cell];
    const position = i < 0 ? 0 : most > least ? Math.log(most / measure.number(i)) / Math.log(most / least) : 1;
    rows.push({
      x: x.labels[cell % x.labels.length], x_at: cell % x.labels.length,
      y: y.labels[Math.floor(cell / x.labels.length)], y_at: Math.floor(cell / x.labels.length),
      colour: i < 0 ? "transparent" : `rgb(${shade(position).join(",")})`, ink: i < 0 ? kOtherColour : ink_on(shade(position)),
      label: i < 0 ? "–" : is_wide ? measure.text(i) : "", ...(i < 0 ? {} : { point: i }),
    });
  }
  const unit = measure.unit ? ` ${measure.unit}` : "";
  document.getElementById("heat_scale").replaceChildren(...(most === 0 ? ["No point of these can be compared."] : [
    `${measure.title}: ${quantity(most)}${unit} `, element("i", { class: "ramp", "aria-hidden": "true" }), ` ${quantity(least)}${unit}`]));
  return rows;
}

charts.heat = {
  rows: () => ({ cells: heat_rows() }),
  is_empty: () => current.points.length === 0,
  adapt: (spec) => {
    const across = columns.get(heat_x.value);
    const { labels } = cells_of(across);
    spec.encoding.x.title = across.title;
    spec.encoding.y.title = columns.get(heat_y.value).title;
    const longest = labels.reduce((most, label) => Math.max(most, Math.min(label.length, 24)), 0);
    const cell_px = (figure_of("heat").clientWidth - 130) / labels.length;
    if (longest * 7 + 6 > cell_px) Object.assign(spec.encoding.x.axis, { labelAngle: -45, labelAlign: "right", labelLimit: 130 });
  },
};

for (const select of [heat_x, heat_y]) {
  select.addEventListener("change", () => {
    draw_chart("heat");
    write_address();
  });
}
heat_measure.addEventListener("change", () => {
  show_chart("heat");
  write_address();
});
