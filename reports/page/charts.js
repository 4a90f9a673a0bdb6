// Draws the charts: each figure names a spec, and specs name the data sets that they show. Charts are drawn for
// the width that they have, with text of full size, and again when that changes from narrow to wide.
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
    const title = figure.parentElement.querySelector("h2").textContent;
    plot.querySelector("summary")?.setAttribute("aria-label", `Save as a picture: ${title}`);
  } catch (error) {
    plot.textContent = `This chart cannot be drawn: ${error.message}`;
    console.error(figure.dataset.chart, error);
  }
}

async function draw_all() {
  for (const figure of figures) await draw(figure);
  document.documentElement.dataset.ready = "true";
}

// For print.js: all charts so many pixels wide, or as wide as the screen has it.
window.packsim_set_chart_width = (width) => {
  for (const [figure, { view }] of views) {
    view.signal("width", width ?? figure.querySelector(".plot").clientWidth).run();
  }
};

narrow.addEventListener("change", draw_all);
draw_all();
