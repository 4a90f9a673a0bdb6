// What reaches beyond the right or left edge of the document, widest first, if the document is wider than its window.
check.wideElements = () => {
  const root = document.documentElement;
  if (root.scrollWidth <= root.clientWidth) return [];
  const scrolled = (element) => {
    for (let e = element.parentElement; e && e !== document.body; e = e.parentElement) {
      if (getComputedStyle(e).overflowX !== "visible") return true;
    }
    return false;
  };
  const wide = [];
  for (const element of document.body.querySelectorAll("*")) {
    // A long word reaches beyond the box of its element.
    const box = element.getBoundingClientRect();
    const spills = getComputedStyle(element).overflowX === "visible" && !(element instanceof SVGElement);
    const right = window.scrollX + Math.max(box.right, spills ? box.left + element.scrollWidth : 0);
    if (right > root.clientWidth + 0.5 && !scrolled(element)) wide.push([Math.round(right), check.where(element)]);
  }
  wide.sort((a, b) => b[0] - a[0]);
  return [[root.scrollWidth, `the document, in a window of ${root.clientWidth} px`], ...wide.slice(0, 8)];
};

const scrollsBy = (style, size, client) => ["auto", "scroll"].includes(style) && size > client + 1;

const regionMistakes = (region) => {
  const wrong = [];
  if (region.getAttribute("tabindex") !== "0") wrong.push('expected tabindex="0"');
  if (region.getAttribute("role") !== "region") wrong.push('expected role="region"');
  const labels = (region.getAttribute("aria-labelledby") ?? "").split(/\s+/).map((id) => document.getElementById(id));
  const name = (region.getAttribute("aria-label") ?? "") + labels.map((label) => label?.textContent ?? "").join("");
  if (!name.trim()) wrong.push("expected an accessible name");
  const overflows = region.scrollWidth > region.clientWidth;
  if (region.hasAttribute("data-overflows") !== overflows) {
    wrong.push(`expected ${overflows ? "" : "no "}data-overflows, as ${region.scrollWidth} px are in ${region.clientWidth}`);
  }
  return wrong;
};

// Each region that scrolls by itself, with what is wrong with it.
check.scrollMistakes = () => {
  const mistakes = [];
  for (const element of document.body.querySelectorAll("*")) {
    if (!element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const scrolls = scrollsBy(style.overflowX, element.scrollWidth, element.clientWidth) ||
                    scrollsBy(style.overflowY, element.scrollHeight, element.clientHeight);
    const isRegion = element.classList.contains("scroll");
    const wrong = isRegion ? regionMistakes(element) : [];
    if (!isRegion && scrolls && !element.matches("select, textarea, input")) wrong.push('scrolls without class "scroll"');
    if (wrong.length) mistakes.push(`${check.where(element)}: ${wrong.join("; ")}`);
  }
  return mistakes;
};

// Where nothing scrolls, on paper, whatever is wider than its box is lost.
check.cutElements = () => [...document.body.querySelectorAll("*")]
  .filter((e) => e.checkVisibility() && !(e instanceof SVGElement) && getComputedStyle(e).overflowX !== "visible" &&
                 e.clientWidth > 1 && e.scrollWidth > e.clientWidth + 1)
  .map((e) => `${check.where(e)}: ${e.scrollWidth} px in ${e.clientWidth}`);

// How wide the text of a page of paper is: A4, less the margins, as the style sheet turns and cuts it.
check.paperWidth = () => {
  const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]);
  const style = rules.findLast((rule) => rule instanceof CSSPageRule)?.style;
  const width_mm = style?.getPropertyValue("size").includes("landscape") ? 297 : 210;
  const margin_mm = (side) => parseFloat(style?.getPropertyValue(`margin-${side}`) || "10");
  return Math.round(((width_mm - margin_mm("left") - margin_mm("right")) * 96) / 25.4);
};
