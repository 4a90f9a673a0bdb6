// Marks that show data: those of axes, legends and titles are left out.
const marksOf = (svg) => [...svg.querySelectorAll('[class*="role-mark"] path, [class*="role-mark"] rect, ' +
                                                  '[class*="role-mark"] circle, [class*="role-mark"] line')]
  .filter((mark) => !mark.closest('[class*="role-axis"], [class*="role-legend"], [class*="role-title"]'));

check.chartMistakes = () => {
  const mistakes = [];
  for (const figure of document.querySelectorAll("figure[data-chart]")) {
    const says = (what) => mistakes.push(`${figure.dataset.chart}: ${what}`);
    if (figure.textContent.includes("cannot be drawn")) says(figure.querySelector(".plot")?.textContent.trim());
    const svg = figure.querySelector(".plot svg");
    if (!svg) {
      says("expected an svg in .plot, got none");
      continue;
    }
    const isLarge = (mark) => mark.getBoundingClientRect().width > 0 && mark.getBoundingClientRect().height > 0;
    if (!marksOf(svg).some(isLarge)) says("expected a mark of more than 0 px");
    const box = svg.getBoundingClientRect();
    const room = figure.getBoundingClientRect();
    if (box.width > room.width + 0.5 || box.right > room.right + 0.5) {
      says(`the svg is ${box.width.toFixed(1)} px wide, its figure ${room.width.toFixed(1)}`);
    }
  }
  return mistakes;
};

// The corners of a text on the screen, in order; it may be turned.
const cornersOf = (text) => {
  const { x, y, width, height } = text.getBBox();
  const matrix = text.getScreenCTM();
  return [[x, y], [x + width, y], [x + width, y + height], [x, y + height]]
    .map(([u, v]) => new DOMPoint(u, v).matrixTransform(matrix));
};

// How many px two rectangles share in the direction in which they share least (separating axes).
const shared_px = (a, b) => {
  let least = Infinity;
  for (const corners of [a, b]) {
    for (const i of [0, 1]) {
      const [from, to] = [corners[i], corners[i + 1]];
      const length = Math.hypot(to.x - from.x, to.y - from.y);
      if (length === 0) return 0;
      const along = (p) => (p.x * (to.x - from.x) + p.y * (to.y - from.y)) / length;
      const [p, q] = [a.map(along), b.map(along)];
      least = Math.min(least, Math.min(Math.max(...p), Math.max(...q)) - Math.max(Math.min(...p), Math.min(...q)));
    }
  }
  return least;
};

check.overlappingTexts = (most_px) => {
  const overlaps = [];
  for (const svg of document.querySelectorAll("figure[data-chart] .plot svg")) {
    const texts = [...svg.querySelectorAll("text")].filter((t) => t.textContent.trim() && check.isSeen(t))
      .map((t) => ({ text: t.textContent, corners: cornersOf(t) }));
    for (const [i, a] of texts.entries()) {
      for (const b of texts.slice(i + 1)) {
        const px = shared_px(a.corners, b.corners);
        if (px > most_px) overlaps.push(`${svg.closest("figure").dataset.chart}: '${a.text}' and '${b.text}' by ${px.toFixed(1)} px`);
      }
    }
  }
  return overlaps;
};

// Texts of drawings with the drawing that shows them, in pixels from the top of the page.
const drawnTexts = (root) => [...root.querySelectorAll(".plot svg.marks")].flatMap((svg) => {
  const room = svg.getBoundingClientRect();
  return [...svg.querySelectorAll("text")].filter((text) => text.textContent.trim() && check.isSeen(text))
    .map((text) => ({ text: text.textContent, box: text.getBoundingClientRect(), room }));
});

// Texts of charts of which the drawing shows only a part, at its top or its bottom.
check.cutTexts = (most_px) => [...document.querySelectorAll("figure[data-chart]")].flatMap((figure) => drawnTexts(figure)
  .filter(({ box, room }) => [room.top, room.bottom].some((edge) => box.top < edge - most_px && box.bottom > edge + most_px))
  .map(({ text }) => `${figure.dataset.chart}: '${text}'`));

check.shownTexts = (chart) => drawnTexts(document.querySelector(`figure[data-chart=${chart}]`))
  .filter(({ box, room }) => (box.top + box.bottom) / 2 > room.top && (box.top + box.bottom) / 2 < room.bottom)
  .map(({ text }) => text);

check.chartSizes = () => [...document.querySelectorAll(".plot svg.marks")]
  .map((svg) => `${svg.getAttribute("viewBox")}, ${svg.getAttribute("width")} x ${svg.getAttribute("height")}`);
