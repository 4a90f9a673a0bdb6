// Time against cost. Vega draws axes, the front and what is chosen; the cloud of all points is drawn beneath it on a
// canvas, as Vega takes 50 to 170 ms for 10 000 points, and this 20.
const canvas = document.querySelector("#front canvas");
const stage = document.querySelector("#front .stage");
const colour_select = document.getElementById("colour");
const kReach_px = 14; // of the pointer
const kMostIntervals = 40; // of points on the front
let cloud_x = new Float32Array(0); // [n shown], px from the left of the stage
let cloud_y = new Float32Array(0);
let cloud_points = new Uint32Array(0);

const coloured_by = [strategy, ...settings.filter((column) => column !== strategy)]
  .filter((column, at) => at === 0 || (column.values && column.values.length > 1 && column.values.length <= 2 * kPalette.length));
for (const column of coloured_by) colour_select.append(element("option", { value: column.key }, column.title));
keep("colour", colour_select, coloured_by[0].key);

// The colour of each code of the chosen column; those beyond the palette share one.
function colours() {
  const column = columns.get(colour_select.value) ?? strategy;
  const codes = column.values.map((_, code) => code).sort((a, b) => column.compare_values(column.values[a], column.values[b]));
  const colour_of = new Array(codes.length).fill(kOtherColour);
  codes.slice(0, kPalette.length).forEach((code, at) => { colour_of[code] = kPalette[at]; });
  const entries = codes.slice(0, kPalette.length).map((code) => [column.value_text(column.values[code]), colour_of[code]]);
  if (codes.length > kPalette.length) entries.push([`${codes.length - kPalette.length} others`, kOtherColour]);
  return { column, colour_of, entries };
}

const is_placed = (i) => is_compared[i] || is_other_job[i];

// Where the points lie, with a little room around them.
function extent(column, points) {
  let least = Infinity;
  let most = 0;
  for (const i of points) {
    if (!is_placed(i)) continue;
    const value = column.number(i);
    if (value < least) least = value;
    if (value > most) most = value;
  }
  if (most === 0) return [1, 10];
  const room = Math.max((most / least) ** 0.04, 1.03);
  return [least / room, most * room];
}

charts.front = {
  is_part: true,
  is_empty: () => !current.points.some(is_placed),
  adapt: (spec) => { spec.encoding.y.title = cost.title + (cost.unit ? `, ${cost.unit}` : ""); },
  rows: () => {
    const [left, right] = extent(hours, current.points);
    const [low, high] = extent(cost, current.points);
    const { column, colour_of } = colours();
    const has_intervals = current.front.length <= kMostIntervals;
    const amounts = (i) => ({
      hours: hours.number(i), cost: cost.number(i), point: i,
      hours_low: (has_intervals && columns.get(`${hours.key}_low`).number(i)) || hours.number(i),
      hours_high: (has_intervals && columns.get(`${hours.key}_high`).number(i)) || hours.number(i),
      cost_low: (has_intervals && columns.get(`${cost.key}_low`).number(i)) || cost.number(i),
      cost_high: (has_intervals && columns.get(`${cost.key}_high`).number(i)) || cost.number(i),
      colour: colour_of[column.codes[i]],
    });
    const chosen = [["A", current.a], ["B", current.b]].filter(([, i]) => i !== null && is_placed(i));
    return {
      extent: [{ hours: left, cost: low }, { hours: right, cost: high }],
      front: current.front.map(amounts),
      chosen: chosen.map(([name, i]) => ({ name, hours: hours.number(i), cost: cost.number(i), point: i })),
    };
  },
  after: draw_cloud,
};

// Positions on a log scale of Vega.
function placer(view, name, offset, logs) {
  const scale = view.scale(name);
  const [from, to] = scale.domain().map(Math.log);
  const [start, end] = scale.range();
  const px_per_unit = (end - start) / (to - from);
  return (i) => offset + start + (logs[i] - from) * px_per_unit;
}
const log_hours = Float64Array.from({ length: n_points }, (_, i) => Math.log(hours.number(i)));
const log_cost = Float64Array.from({ length: n_points }, (_, i) => Math.log(cost.number(i)));

function place_points(view) {
  const x_of = placer(view, "x", view.padding().left + view.origin()[0], log_hours);
  const y_of = placer(view, "y", view.padding().top + view.origin()[1], log_cost);
  const points = current.points.filter(is_placed);
  cloud_points = points;
  cloud_x = new Float32Array(points.length);
  cloud_y = new Float32Array(points.length);
  for (let k = 0; k < points.length; ++k) {
    cloud_x[k] = x_of(points[k]);
    cloud_y[k] = y_of(points[k]);
  }
}

function draw_cloud(view) {
  const svg = figure_of("front").querySelector(".plot svg");
  const box = svg.getBoundingClientRect();
  const room = stage.getBoundingClientRect();
  canvas.style.left = `${box.left - room.left}px`;
  canvas.style.top = `${box.top - room.top}px`;
  const density = window.devicePixelRatio || 1;
  for (const [side, px] of [["width", box.width], ["height", box.height]]) {
    if (canvas[side] !== Math.round(px * density)) {
      canvas[side] = Math.round(px * density);
      canvas.style[side] = `${px}px`;
    }
  }
  place_points(view);
  const pen = canvas.getContext("2d");
  pen.setTransform(density, 0, 0, density, 0, 0);
  pen.clearRect(0, 0, box.width, box.height);
  const { column, colour_of, entries } = colours();
  legend(document.getElementById("front_legend"), entries);
  const half = cloud_points.length > 2000 ? 1.75 : 3;
  // One colour after the other, as changing it costs more than a point.
  const by_colour = new Map();
  for (let k = 0; k < cloud_points.length; ++k) {
    const i = cloud_points[k];
    const colour = is_other_job[i] ? "" : colour_of[column.codes[i]];
    if (!by_colour.has(colour)) by_colour.set(colour, []);
    by_colour.get(colour).push(k);
  }
  pen.globalAlpha = cloud_points.length > 2000 ? 0.6 : 0.85;
  pen.lineWidth = 1;
  for (const [colour, marks] of by_colour) {
    pen.fillStyle = colour;
    pen.strokeStyle = kOtherColour;
    for (const k of marks) {
      if (colour) pen.fillRect(cloud_x[k] - half, cloud_y[k] - half, 2 * half, 2 * half);
      else pen.strokeRect(cloud_x[k] - half, cloud_y[k] - half, 2 * half, 2 * half);
    }
  }
}

// The point that is nearest to the pointer; null where none is near.
function nearest_point(event) {
  const box = canvas.getBoundingClientRect();
  const x = event.clientX - box.left;
  const y = event.clientY - box.top;
  let nearest = null;
  let least = kReach_px ** 2;
  for (let k = 0; k < cloud_points.length; ++k) {
    const squared = (cloud_x[k] - x) ** 2 + (cloud_y[k] - y) ** 2;
    if (squared < least) {
      least = squared;
      nearest = cloud_points[k];
    }
  }
  return nearest;
}

stage.addEventListener("mousemove", (event) => {
  const point = nearest_point(event);
  if (point === null) hide_tip();
  else show_tip(point, event.clientX, event.clientY);
  stage.style.cursor = point === null ? "" : "pointer";
});
stage.addEventListener("mouseleave", hide_tip);
let next_is_b = false;
stage.addEventListener("click", (event) => {
  const point = nearest_point(event);
  if (point === null) return;
  hide_tip();
  choose(next_is_b ? "b" : "a", point);
  next_is_b = !next_is_b;
});

// Scaling: for each number of GPUs the fastest point of a line.
const kMostLines = kPalette.length;
const many_types = type_of_cluster?.values?.length > 1;
const line_name = (i) => (many_types ? `${strategy.text(i)}, ${type_of_cluster.text(i)}` : strategy.text(i));

// Lines of points by number of GPUs, those with the fewest hours first.
function scaling_lines() {
  const lines = new Map();
  for (const i of by_hours) {
    if (!current.mask[i] || Number.isNaN(n_gpus.number(i))) continue;
    const code = strategy.codes[i] * 4096 + (many_types ? type_of_cluster.codes[i] : 0);
    if (!lines.has(code)) lines.set(code, new Map());
    const line = lines.get(code);
    if (!line.has(n_gpus.number(i))) line.set(n_gpus.number(i), i);
  }
  return [...lines.values()].slice(0, kMostLines).map((line) => [...line.values()].sort((a, b) => n_gpus.number(a) - n_gpus.number(b)));
}

function scaling_rows() {
  const lines = scaling_lines();
  legend(document.getElementById("scaling_legend"), lines.map((line, at) => [line_name(line[0]), kPalette[at]]));
  return lines.flatMap((line, at) => line.map((i) => ({
    line: at, colour: kPalette[at], point: i, gpus: n_gpus.number(i), hours: hours.number(i),
    efficiency: gpu_days.number(line[0]) / gpu_days.number(i),
  })));
}
// Clusters have few sizes: these are the ticks, and filters leave the axis as it is.
function adapt_scaling(spec) {
  const sizes = [...new Set([...by_hours].map((i) => n_gpus.number(i)))].filter((number) => number > 0).sort((a, b) => a - b);
  spec.encoding.x.axis.values = sizes;
  if (sizes.length > 1) spec.encoding.x.scale.domain = [sizes[0], sizes.at(-1)];
}
const has_no_line = () => !by_hours.some((i) => current.mask[i] && n_gpus.number(i) > 0);
for (const name of ["scaling_hours", "scaling_efficiency"])
  charts[name] = { rows: () => ({ lines: scaling_rows() }), adapt: adapt_scaling, is_empty: has_no_line };
