"use strict";
// Shows the experiments that match the filters.
(() => {
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const colour = () => { document.documentElement.dataset.theme = prefersDark.matches ? "dark" : "light"; };
  prefersDark.addEventListener("change", colour);
  colour();
  const rows = [...document.querySelectorAll("tbody tr")];
  const [from, to] = ["[data-from]", "[data-to]"].map((name) => document.querySelector(name));
  const selects = [...document.querySelectorAll("[data-filter]")];
  function fits(row) {
    const { date } = row.dataset;
    if ((from.value && date < from.value) || (to.value && date > to.value)) return false;
    return selects.every((select) => {
      const value = row.dataset[select.dataset.filter];
      if (select.value === "") return true;
      return select.dataset.filter === "systems" ? JSON.parse(value).includes(select.value) : value === select.value;
    });
  }
  function filter() {
    for (const row of rows) row.hidden = !fits(row);
    document.getElementById("shown").textContent = String(rows.filter((row) => !row.hidden).length);
  }
  document.querySelector("form").addEventListener("input", filter);
  filter();
})();
