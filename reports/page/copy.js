// Copies what a report was made from as text: a line for each term.
for (const button of document.querySelectorAll("button[data-copies]")) {
  button.addEventListener("click", async () => {
    const list = document.getElementById(button.dataset.copies);
    const said = button.parentElement.querySelector(".copied");
    const text = [...list.children]
      .map((item) => `${item.querySelector("dt").innerText}: ${item.querySelector("dd").innerText}`)
      .join("\n");
    try {
      await navigator.clipboard.writeText(text);
      said.textContent = "Copied.";
    } catch {
      // No clipboard here: the text is marked, for the reader's own copy.
      window.getSelection().selectAllChildren(list);
      said.textContent = "Marked: copy it with Ctrl+C.";
    }
  });
}
