// Text that is smaller on the screen than least_px, a line for each chart or element. Text of a drawing is scaled with it.
check.smallText = (least_px) => {
  const small = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || element.closest("script, style, noscript, template")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    if (![...range.getClientRects()].some((box) => box.width > 0) || !check.isSeen(element)) continue;
    let px = parseFloat(getComputedStyle(element).fontSize);
    if (element instanceof SVGElement) {
      const m = element.getScreenCTM();
      px *= Math.sqrt(Math.abs(m.a * m.d - m.b * m.c));
    }
    if (px >= least_px - 0.01) continue;
    const chart = element instanceof SVGElement ? element.closest("figure[data-chart]")?.dataset.chart : undefined;
    const key = chart ?? check.where(element);
    const { n, least } = small.get(key) ?? { n: 0, least: Infinity };
    small.set(key, { n: n + 1, least: Math.min(least, px), text: node.data.trim().slice(0, 40) });
  }
  return [...small].map(([key, { n, least, text }]) => `${key}: ${n} texts from ${least.toFixed(2)} px, such as '${text}'`);
};
