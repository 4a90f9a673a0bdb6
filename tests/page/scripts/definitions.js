// What explains itself when pointed at: heads of the first table, and everything else that says that it is described.
const described = () => [...document.querySelectorAll("[aria-describedby], thead th[title], abbr[title], dfn[title]")]
  .filter((e) => e.checkVisibility() && !e.closest("svg"));
// What says so to a screen reader may be anywhere on the page; the tooltip shows the same text.
const tooltips = () => [...document.querySelectorAll('[role="tooltip"]')].filter((e) => check.isSeen(e) && e.textContent.trim());
const described_by = (trigger) => (trigger.getAttribute("aria-describedby") ?? "").split(/\s+/)
  .map((id) => document.getElementById(id)?.textContent.trim() ?? "").join(" ");

let triggers = [];
check.nDefinitions = () => {
  triggers = described();
  return triggers.length;
};
check.definitionTrigger = (i) => triggers[i];
check.definitionOf = (i) => triggers[i].textContent.trim().replace(/\s+/g, " ");
// A title attribute is no definition: it shows on hover alone, and never on a touch screen.
check.shownDefinition = (i) => {
  const shown = tooltips()[0];
  if (!shown || !shown.textContent.includes(described_by(triggers[i]))) return null;
  const box = shown.getBoundingClientRect();
  const isWhole = box.left >= -0.5 && box.right <= document.documentElement.clientWidth + 0.5 && box.bottom > 0 && box.top < innerHeight;
  return { text: shown.textContent.trim(), isWhole, px: parseFloat(getComputedStyle(shown).fontSize) };
};
check.undefinedHeads = () => {
  const table = document.querySelector(".scroll table:not(.plain)");
  return [...table.querySelectorAll('thead th[scope="col"]')].slice(1)
    .filter((th) => th.checkVisibility() && !th.matches("[aria-describedby]") && !th.querySelector("[aria-describedby]"))
    .map((th) => `${check.where(th)}: expected a definition (aria-describedby)`);
};
