// What is shown at the moment, and what follows when it changes.

// The cheapest and the fastest of the shown points: the ends of the front.
function best_text() {
  const { front } = current;
  if (front.length === 0) return "No point that the filters leave can be compared.";
  const at = (i) => `point ${columns.get("@point").text(i)}, ${short_name(i)}`;
  const amount = (column, i) => (column.unit ? `${column.text(i)} ${column.unit}` : `${column.title} ${column.text(i)}`);
  const [cheapest, fastest] = [front[front.length - 1], front[0]];
  const both = (i) => `${amount(hours, i)}, ${amount(cost, i)}`;
  if (cheapest === fastest) return `Of the shown points, ${at(cheapest)}, is the cheapest and the fastest: ${both(cheapest)}.`;
  return `Of the shown points, the cheapest is ${at(cheapest)}: ${both(cheapest)}. The fastest is ${at(fastest)}: ${both(fastest)}.`;
}

function apply_filters() {
  current.mask = filtered_mask();
  current.points = kAllPoints.filter((i) => current.mask[i]);
  current.front = front_of(current.mask);
  choose_usual();
  document.getElementById("shown").textContent =
    `${current.points.length.toLocaleString("en-US")} of ${n_points.toLocaleString("en-US")} points`;
  document.getElementById("shown_best").textContent = best_text();
  show_table();
  show_comparison();
  show_reasons();
  update_charts();
  write_address();
}

// The address of this view. A frame in a notebook has none.
function write_address() {
  const parameters = new URLSearchParams();
  for (const { write } of kept) write(parameters);
  const text = parameters.toString();
  try {
    history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
  } catch {
    // Only the address cannot be kept.
  }
}

function read_address() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  for (const { read } of kept) read(parameters);
}

function reset_filters() {
  const nothing = new URLSearchParams();
  for (const { read } of kept) read(nothing);
  sorting.page = 0;
  apply_filters();
  draw_chart("heat");
}

filters_form.addEventListener("change", () => {
  sorting.page = 0;
  apply_filters();
});
filters_form.addEventListener("input", (event) => {
  if (event.target.type !== "number" && event.target.type !== "search") return;
  sorting.page = 0;
  apply_filters();
});
reset_button.addEventListener("click", reset_filters);
colour_select.addEventListener("change", () => {
  show_chart("front");
  write_address();
});
window.addEventListener("hashchange", () => {
  read_address();
  apply_filters();
  draw_chart("heat");
});
narrow.addEventListener("change", draw_all_charts);
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => show_chart("front"));

if (narrow.matches || window.innerWidth < 1000) document.getElementById("filters").open = false;
read_address();
apply_filters();
await draw_all_charts();
for (const name of Object.keys(charts)) seen.observe(figure_of(name));
document.documentElement.dataset.ready = "true";
