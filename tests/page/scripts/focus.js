// Everything that a keyboard has to reach, with how it looks when it is not focused. Of radio buttons Tab reaches one.
const lookOf = (element) => {
  const style = getComputedStyle(element);
  return [style.boxShadow, style.borderColor, style.backgroundColor, style.textDecoration].join("|");
};
const isReachable = (e) => (e.tabIndex >= 0 || e.matches("[role=button]")) && !e.disabled && !e.closest("[inert]") &&
                           e.checkVisibility({ visibilityProperty: true }) && !(e.type === "radio" && !e.checked);
let controls = [];

// Counts the controls, and puts the focus before the first one.
check.startTabbing = () => {
  const all = document.querySelectorAll("a[href], button, select, input, textarea, summary, [role=button], [tabindex]");
  controls = [...all].filter(isReachable).map((element) => ({ element, look: lookOf(element), reached: false }));
  const start = document.createElement("span");
  start.tabIndex = -1;
  document.body.prepend(start);
  start.focus();
  start.remove();
  return controls.length;
};

// What is wrong with how the focus shows; "end" where the focus has left the page or is back at a control that it was on.
check.focusMistake = () => {
  const element = document.activeElement;
  if (!element || element === document.body || element === document.documentElement) return "end";
  const control = controls.find((c) => c.element === element);
  if (!control) return "";  // a browser lets Tab reach what scrolls
  if (control.reached) return "end";
  control.reached = true;
  const style = getComputedStyle(element);
  const hasOutline = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
  if (!hasOutline && lookOf(element) === control.look) return `${check.where(element)}: looks the same with the focus on it`;
  const box = element.getBoundingClientRect();
  const isInWindow = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
  return isInWindow ? "" : `${check.where(element)}: is outside the window with the focus on it`;
};

check.notReached = () => controls.filter((c) => !c.reached).map((c) => `${check.where(c.element)}: Tab does not reach it`);
