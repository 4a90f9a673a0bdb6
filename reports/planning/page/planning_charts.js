// Draws the charts with Vega, and again with other data when a filter changes: those in the window at once, the
// others when they come into it.
const narrow = window.matchMedia("(max-width: 560px)");
// Each chart has its rows by the name of their data set, and what its spec has to be told; after: what follows it;
// is_part: something else draws the rest, so that a picture of it would lack that.
const charts = {};
const drawn = new Map();
const stale = new Set();

const figure_of = (name) => document.querySelector(`figure[data-chart=${name}]`);
const in_window = new Set();
const seen = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    const name = target.dataset.chart;
    if (isIntersecting) in_window.add(name);
    else in_window.delete(name);
    if (isIntersecting && stale.has(name)) show_chart(name);
  }
}, { rootMargin: "150px" });

// Vega-Lite warns of every chart whose rows have a fixed height that it will not be fitted. That is meant.
const warn = console.warn.bind(console);
console.warn = (...said) => {
  if (!said.join(" ").includes('Dropping "fit-y"')) warn(...said);
};

function theme() {
  if (!narrow.matches) return planning.theme;
  return { ...planning.theme, axis: { ...planning.theme.axis, labelLimit: 96 } };
}

function mark_empty(name) {
  figure_of(name).toggleAttribute("data-empty", charts[name].is_empty?.() ?? false);
}

async function draw_chart(name) {
  const chart = charts[name];
  const plot = figure_of(name).querySelector(".plot");
  stale.delete(name);
  mark_empty(name);
  try {
    const spec = structuredClone(planning.specs[name]);
    chart.adapt?.(spec);
    drawn.get(name)?.finalize();
    const { view } = await window.vegaEmbed(plot, { ...spec, datasets: chart.rows() }, {
      config: theme(),
      renderer: "svg",
      logLevel: 1, // errors: it warns of charts without rows, which mark_empty() hides
      tooltip: false,
      actions: chart.is_part ? false : { export: true, source: false, compiled: false, editor: false },
    });
    plot.querySelector("summary")?.setAttribute("aria-label", `Save as a picture: ${name.replace("_", " ")}`);
    drawn.set(name, view);
    view.addEventListener("mousemove", (event, item) => {
      const point = item?.datum?.point;
      if (point !== undefined) show_tip(point, event.clientX, event.clientY);
      else if (!chart.is_part) hide_tip();
    });
    view.addEventListener("mouseout", () => { if (!chart.is_part) hide_tip(); });
    // Vega fits the chart to the window by itself; what follows it does so when that is done.
    if (chart.after) new ResizeObserver(() => chart.after(view)).observe(plot.querySelector("svg"));
  } catch (error) {
    plot.textContent = `This chart cannot be drawn: ${error.message}`;
    console.error(name, error);
  }
}

// New rows in a chart that is there.
function show_chart(name) {
  stale.delete(name);
  const view = drawn.get(name);
  if (!view) return;
  mark_empty(name);
  for (const [set, rows] of Object.entries(charts[name].rows())) view.data(set, rows);
  view.run();
  charts[name].after?.(view);
}

function update_charts() {
  for (const name of Object.keys(charts)) {
    if (in_window.has(name)) show_chart(name);
    else stale.add(name);
  }
}

async function draw_all_charts() {
  for (const name of Object.keys(charts)) await draw_chart(name);
}

function legend(list, entries) {
  list.replaceChildren(...entries.map(([text, colour]) => {
    const swatch = element("i", { class: "swatch" });
    swatch.style.background = colour;
    return element("li", {}, swatch, shortened(text, kLongestLabel));
  }));
}

if (document.getElementById("tornado_reasons")) {
  const percent = (ratio) => `${ratio >= 1 ? "+" : ""}${(100 * (ratio - 1)).toFixed(1)}%`;
  const rows = [];
  const reasons = document.getElementById("tornado_reasons");
  for (const { what, less, more } of planning.changes) {
    for (const [side, changed] of [["less", less], ["more", more]]) {
      if (changed.ratio === null) {
        reasons.append(element("li", {}, `${what}, ${changed.what}: ${changed.reason}`));
      } else {
        rows.push({ what, side, change: changed.ratio - 1, percent: percent(changed.ratio), text: `${changed.what}: ${percent(changed.ratio)}`,
                    colour: side === "less" ? kPalette[0] : kPalette[1] });
      }
    }
  }
  const label_px = () => (narrow.matches ? 60 : 130); // what stands beside a bar
  charts.tornado = {
    rows: () => ({ changes: rows.map((row) => ({ ...row, text: narrow.matches ? row.percent : row.text })) }),
    adapt: (spec) => {
      if (narrow.matches) spec.encoding.y.axis = { labelLimit: 130 };
      const least = Math.min(0, ...rows.map((row) => row.change));
      const most = Math.max(0, ...rows.map((row) => row.change));
      const width_px = Math.max(figure_of("tornado").clientWidth - (narrow.matches ? 150 : 220), 160);
      const per_px = Math.max(most - least, 0.01) / Math.max(width_px - 2 * label_px(), 40);
      spec.layer[0].encoding.x.scale.domain = [least - label_px() * per_px, most + label_px() * per_px];
    },
  };
}
