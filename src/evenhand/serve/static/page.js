// Ticks, sorting and the choice of a value. Everything also works without this file.
"use strict";

function ticked() {
  const form = document.getElementById("list");
  if (!form) return;
  const boxes = [...form.querySelectorAll("input.tick")].filter((box) => box.type === "hidden" || box.checked);
  const count = boxes.length;
  const bar = document.getElementById("bar");
  bar.classList.toggle("ready", count >= 2);
  document.getElementById("ticked").textContent =
    count === 0 ? "Tick two runs of one task to compare them." :
    count === 1 ? "1 run ticked; tick another one of the same task." : `${count} runs ticked.`;
  document.getElementById("compare").disabled = count < 2;
  document.getElementById("diff").disabled = count !== 2;
}

document.addEventListener("change", (event) => {
  if (event.target.matches("input.tick")) ticked();
  if (event.target.matches("select[data-go]")) event.target.form.submit();
});

// A column's button says how it sorts; comparing leaves the list instead of filtering it.
document.addEventListener("click", (event) => {
  const sort = event.target.closest("button.sort");
  if (sort) {
    document.getElementById("sort").value = sort.value;
    document.getElementById("way").value = sort.dataset.way;
    sort.removeAttribute("name");
    return;
  }
  const leave = event.target.closest("button[formaction]");
  if (leave) {
    event.preventDefault();
    const boxes = [...document.querySelectorAll("#list input.tick")].filter((box) => box.type === "hidden" || box.checked);
    const query = new URLSearchParams(boxes.map((box) => ["run", box.value]));
    window.location.assign(`${leave.getAttribute("formaction")}?${query}`);
  }
});

document.addEventListener("htmx:afterSettle", ticked);
document.addEventListener("DOMContentLoaded", ticked);

// Arrow keys go to the page or sample before and after, unless somebody is typing or scrolling a table.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  if (event.target.closest("input, select, textarea, video, [role=region]")) return;
  const way = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
  const link = way && document.querySelector(`nav.pager a[rel="${way}"]`);
  if (link) link.click();
});
