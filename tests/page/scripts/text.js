// [[px, where]] of text that is smaller on the screen than least_px. Text of a drawing is scaled with it.
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
    if (px < least_px - 0.01) small.set(check.where(element), [Math.round(px * 100) / 100, check.where(element)]);
  }
  return [...small.values()];
};
