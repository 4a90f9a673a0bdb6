// What the checks share: window.check has one function for each question about the page.
window.check = {};

// A person sees it: laid out, not transparent, and larger than what screen readers alone get (1 px).
check.isSeen = (element) => {
  if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return false;
  for (let e = element; e; e = e.parentElement) {
    const box = e.getBoundingClientRect();
    const style = getComputedStyle(e);
    const clips = style.overflow !== "visible" || style.clipPath !== "none" || style.clip !== "auto";
    if (clips && !(e instanceof SVGElement) && (box.width <= 1 || box.height <= 1)) return false;
  }
  return true;
};

// Where an element is, for a message: "section > table.runs > th 'GPU-days'", or its chart and text.
check.where = (element) => {
  const chart = element.closest("figure[data-chart]")?.dataset.chart;
  if (chart && element instanceof SVGElement) return `${chart}: '${element.textContent.trim()}'`;
  const names = [];
  for (let e = element; e && e !== document.body && names.length < 4; e = e.parentElement) {
    const style = e.getAttribute("class");
    names.unshift(e.localName + (e.id ? `#${e.id}` : "") + (style ? `.${style.trim().split(/\s+/).join(".")}` : ""));
  }
  const text = element.textContent.trim().replace(/\s+/g, " ").slice(0, 60);
  return `${names.join(" > ")} '${text}'`;
};
