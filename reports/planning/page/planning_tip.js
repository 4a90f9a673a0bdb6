// Shows all values of a point beside the pointer.
const tip = element("div", { id: "tip", role: "tooltip" });
tip.hidden = true;
document.body.append(tip);
const kMostTipCharacters = 160;

function show_tip(point, x, y) {
  const list = element("dl");
  for (const [title, text] of described(point)) {
    list.append(element("dt", {}, title), element("dd", {}, shortened(text, kMostTipCharacters)));
  }
  tip.replaceChildren(list);
  tip.hidden = false;
  const room = document.documentElement.clientWidth;
  const left = x + 16 + tip.offsetWidth > room ? x - 16 - tip.offsetWidth : x + 16;
  tip.style.left = `${Math.max(4, Math.min(left, room - tip.offsetWidth - 4))}px`;
  tip.style.top = `${Math.max(4, Math.min(y + 12, window.innerHeight - tip.offsetHeight - 4))}px`;
}

function hide_tip() {
  tip.hidden = true;
}

document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide_tip(); });
document.addEventListener("scroll", hide_tip, true);
