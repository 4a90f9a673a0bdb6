// Draws the charts: each figure names a spec, and specs name the data sets that they show. Charts are drawn for
// the width that they have, with text of full size, and again when that changes from narrow to wide. Those of a
// part that is folded away have no width, and are drawn when it is opened.
const { specs, theme, datasets } = JSON.parse(document.getElementById("charts").textContent);
const figures = [...document.querySelectorAll("figure[data-chart]")];
const narrow = window.matchMedia("(max-width: 560px)");
const views = new Map();

// Long names of runs get less room where there is little.
function configured() {
  if (!narrow.matches) return theme;
  return {
    ...theme,
    axis: { ...theme.axis, labelLimit: 96 },
    legend: { ...theme.legend, labelLimit: 100, columnPadding: 8 },
  };
}

// Only the data sets that the spec names.
function data_of(spec) {
  const named = {};
  JSON.stringify(spec, (key, value) => {
    if (key === "data" && value?.name) named[value.name] = datasets[value.name];
    return value;
  });
  return named;
}

// Vega-Lite warns of every chart whose rows have a fixed height that it will not be fitted. That is meant.
const warn = console.warn.bind(console);
console.warn = (...said) => {
  if (!said.join(" ").includes('Dropping "fit-y"')) warn(...said);
};

async function draw(figure) {
  const plot = figure.querySelector(".plot");
  const spec = specs[figure.dataset.chart];
  const options = {
    config: configured(),
    renderer: "svg", // sharp in print, and its text follows the page's colours
    actions: { export: true, source: false, compiled: false, editor: false },
    bind: figure.querySelector(".choices"),
  };
  try {
    views.get(figure)?.finalize();
    figure.querySelector(".choices").replaceChildren();
    const drawn = await window.vegaEmbed(plot, { ...spec, datasets: data_of(spec) }, options);
    views.set(figure, drawn);
    const title = figure.parentElement.querySelector("h2, h3").textContent;
    plot.querySelector("summary")?.setAttribute("aria-label", `Save as a picture: ${title}`);
  } catch (error) {
    plot.textContent = `This chart cannot be drawn: ${error.message}`;
    console.error(figure.dataset.chart, error);
  }
}

const is_folded = (figure) => figure.closest("details:not([open])") !== null;

async function draw_all() {
  for (const figure of figures) if (!is_folded(figure)) await draw(figure);
  document.documentElement.dataset.ready = "true";
}

// The height of a row of a chart that has a row for each run or rank; none of other charts.
const row_px = (view) => view.getState({ signals: (name) => name === "y_step" }).signals.y_step;

// print.js fits all charts into a room of so many pixels, or as wide as the screen has it. Rows become lower where
// that makes a chart fit, but never so low that their names touch: as many runs as charts show fit on a page.
const kLowestRow_px = 15;
const screen_row_px = new Map();
async function fit(plot, view, room) {
  await view.signal("width", room?.width_px ?? plot.clientWidth).runAsync();
  if (row_px(view) === undefined) return;
  if (!screen_row_px.has(view)) screen_row_px.set(view, row_px(view));
  await view.signal("y_step", screen_row_px.get(view)).runAsync();
  const over_px = room ? plot.querySelector("svg").getAttribute("height") - room.height_px : 0;
  if (over_px <= 0) return;
  const fitting_px = row_px(view) * (1 - over_px / view.signal("height"));
  await view.signal("y_step", Math.min(row_px(view), Math.max(kLowestRow_px, fitting_px))).runAsync();
}
// One fit at a time: a page that leaves the print before its charts fit the paper keeps the sizes of the screen.
let fitted = Promise.resolve();
async function fit_all(room) {
  for (const [figure, { view }] of views) {
    if (!is_folded(figure)) await fit(figure.querySelector(".plot"), view, room);
  }
}
window.packsim_fit_charts = (room) => (fitted = fitted.then(() => fit_all(room)));

for (const part of document.querySelectorAll("details.fold")) {
  part.addEventListener("toggle", async () => {
    if (part.open) for (const figure of part.querySelectorAll("figure[data-chart]")) await draw(figure);
  });
}
narrow.addEventListener("change", draw_all);
draw_all();
