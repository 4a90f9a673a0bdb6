// Draws the charts of the page: each figure names a spec, and specs name the data sets that they show.
const { specs, theme, datasets } = JSON.parse(document.getElementById("charts").textContent);

for (const figure of document.querySelectorAll("figure[data-chart]")) {
  const plot = figure.querySelector(".plot");
  const spec = { ...specs[figure.dataset.chart], datasets };
  const options = {
    config: theme,
    renderer: "svg", // sharp in print, and its text follows the page's colours
    actions: { export: true, source: false, compiled: false, editor: false },
  };
  window.vegaEmbed(plot, spec, options).catch((error) => {
    plot.textContent = `This chart cannot be drawn: ${error.message}`;
    console.error(figure.dataset.chart, error);
  });
}
