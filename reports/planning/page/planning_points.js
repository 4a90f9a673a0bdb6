// The points of a planning page as typed arrays, and how their values are shown.
const planning = JSON.parse(document.getElementById("planning").textContent);
const n_points = planning.n_points;

// 0.0531, 5.22, 52.2, 1,234: as the program's tables have it.
function quantity(value) {
  if (!Number.isFinite(value)) return "-";
  if (value === 0) return "0";
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US");
  return Math.abs(value) >= 0.001 ? value.toPrecision(3) : String(Number(value.toPrecision(3)));
}

// Settings and counts may lose no digit.
function exact(value) {
  if (Number.isInteger(value) && Math.abs(value) >= 10_000) return value.toLocaleString("en-US");
  return String(Number(value.toPrecision(6)));
}

class Column {
  constructor({ key, title, unit, role, kind, values, codes, numbers }) {
    Object.assign(this, { key, title, unit, role, is_text: kind === "text", values });
    if (values) this.codes = codes ? Uint32Array.from(codes) : new Uint32Array(n_points);
    else this.values_at = Float64Array.from(numbers, (number) => number ?? NaN);
    if (values && !this.is_text) {
      const known = Float64Array.from(values, (value) => value ?? NaN);
      this.values_at = Float64Array.from(this.codes, (code) => known[code]);
    }
    this.counts = !this.is_text && this.values_at.every((value) => Number.isNaN(value) || Number.isInteger(value));
  }

  // NaN where the point has none.
  number(i) { return this.is_text ? NaN : this.values_at[i]; }

  value_text(value) {
    if (value === null || value === undefined || value === "" || Number.isNaN(value)) return "-";
    if (typeof value !== "number") return String(value);
    return this.role === "result" || (this.role === "further" && !this.counts) ? quantity(value) : exact(value);
  }

  text(i) {
    return this.value_text(this.values ? this.values[this.codes[i]] : this.values_at[i]);
  }

  has_values() {
    return this.values ? this.values.some((value) => value !== null) : this.values_at.some((value) => !Number.isNaN(value));
  }

  // Numbers by size and texts as people sort them, what has no value last.
  compare_values(a, b) {
    if (a === null || b === null) return (a === null) - (b === null);
    return typeof a === "number" && typeof b === "number" ? a - b : collator.compare(String(a), String(b));
  }

  // All points in the order of this column, equals in their own order. Points without a value come last.
  order() {
    if (this.sorted) return this.sorted;
    const rank = new Float64Array(n_points);
    if (this.values) {
      const by_rank = this.values.map((_, code) => code).sort((a, b) => this.compare_values(this.values[a], this.values[b]));
      const rank_of = new Float64Array(this.values.length);
      by_rank.forEach((code, at) => { rank_of[code] = this.values[code] === null ? Infinity : at; });
      for (let i = 0; i < n_points; ++i) rank[i] = rank_of[this.codes[i]];
    } else {
      for (let i = 0; i < n_points; ++i) rank[i] = Number.isNaN(this.values_at[i]) ? Infinity : this.values_at[i];
    }
    this.rank = rank;
    this.sorted = Uint32Array.from({ length: n_points }, (_, i) => i).sort((a, b) => (rank[a] === rank[b] ? a - b : rank[a] < rank[b] ? -1 : 1));
    return this.sorted;
  }
}

const collator = new Intl.Collator("en", { numeric: true });
const all_columns = planning.columns.map((json) => new Column(json));
const columns = new Map(all_columns.map((column) => [column.key, column]));
const hours = columns.get("@hours");
const cost = columns.get(planning.cost);
const gpu_days = columns.get("@gpu_days");
const n_gpus = columns.get("@gpus");
const strategy = columns.get("@strategy");
const settings = all_columns.filter((column) => column.role === "setting");
const type_of_cluster = columns.get("cluster.type") ?? columns.get("cluster");

// What can be compared: it fits, trains the job that was asked for, and has times.
const is_compared = new Uint8Array(n_points);
const is_other_job = new Uint8Array(n_points);
{
  const standing = columns.get("@standing");
  const [compared, other_job] = planning.standings;
  for (let i = 0; i < n_points; ++i) {
    const has_place = hours.number(i) > 0 && cost.number(i) > 0;
    is_compared[i] = has_place && standing.text(i) === compared;
    is_other_job[i] = has_place && standing.text(i) === other_job;
  }
}

// "0.630 h (90%: 0.527 to 0.752)"
function amount_text(column, i) {
  const text = column.text(i);
  if (text === "-") return text;
  const low = columns.get(`${column.key}_low`)?.text(i) ?? "-";
  const high = columns.get(`${column.key}_high`)?.text(i) ?? "-";
  const unit = column.unit ? ` ${column.unit}` : "";
  return `${text}${unit}${low === "-" || high === "-" ? "" : ` (90%: ${low} to ${high})`}`;
}

const is_amount = (column) => columns.has(`${column.key}_low`);
const is_interval = (column) => /^@.*_(low|high)$/.test(column.key) && column.role === "result";

// All that is known of a point, as titles and texts.
function described(i) {
  const lines = [];
  for (const column of all_columns) {
    if (is_interval(column)) continue;
    const text = is_amount(column) ? amount_text(column, i) : column.text(i);
    if (text !== "-") lines.push([column.title, is_amount(column) || !column.unit ? text : `${text} ${column.unit}`]);
  }
  return lines;
}

const short_name = (i) => `${strategy.text(i)}${Number.isNaN(n_gpus.number(i)) ? "" : `, ${n_gpus.text(i)} GPUs`}`;

// Compared points in the order of their hours, then their cost: the front is a walk along it.
const by_hours = Uint32Array.from(hours.order()).filter((i) => is_compared[i])
  .sort((a, b) => hours.number(a) - hours.number(b) || cost.number(a) - cost.number(b) || a - b);

// Those that no other point beats in both; the fastest first. mask: the points that count.
function front_of(mask) {
  const front = [];
  let least = Infinity;
  let hours_at_least = NaN;
  for (const i of by_hours) {
    if (!mask[i]) continue;
    const is_equal = cost.number(i) === least && hours.number(i) === hours_at_least;
    if (cost.number(i) >= least && !is_equal) continue;
    front.push(i);
    least = cost.number(i);
    hours_at_least = hours.number(i);
  }
  return front;
}

const shortened = (text, most) => (text.length > most ? `${text.slice(0, most)}…` : text);

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key in made && typeof value !== "string") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

const kPalette = ["#2f7fd1", "#c8641c", "#2f9189", "#b04a9a", "#83871f", "#7b62c8", "#c2453e", "#557b92", "#a8763a", "#3c9649"];
const kOtherColour = "#8a929b";

// What is shown at the moment: planning_main.js keeps it.
const kAllPoints = Uint32Array.from({ length: n_points }, (_, i) => i);
const current = { mask: new Uint8Array(n_points).fill(1), points: kAllPoints, front: [], a: null, b: null, is_chosen: { a: false, b: false } };
