"use strict";
// Draws the charts of the page with Vega. Texts reach the document as text alone, never as HTML.
(() => {
  const content = (id) => JSON.parse(document.getElementById(id).textContent);
  const report = content("report-data");
  const root = document.documentElement;
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null; // by the button
  const theme = () => chosen ?? (prefersDark.matches ? "dark" : "light");

  // ---- tables -------------------------------------------------------------------------------------------------------
  // Columns as they were packed: texts once, and where they stand.
  const column = (packed) => (Array.isArray(packed) ? packed : packed.index.map((position) => packed.names[position]));

  function rowsOf(table, part) {
    const names = Object.keys(table);
    const columns = names.map((name) => column(table[name]));
    const parts = part === undefined ? null : columns[names.indexOf("part")];
    const rows = [];
    for (let i = 0; i < columns[0].length; i++) {
      if (parts !== null && parts[i] !== part) continue;
      const row = {};
      names.forEach((name, at) => { row[name] = columns[at][i]; });
      rows.push(row);
    }
    return rows;
  }

  function element(name, text, attributes = {}) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }

  // ---- charts -------------------------------------------------------------------------------------------------------
  const tip = document.body.appendChild(element("div", "", { class: "tip", hidden: "" }));
  function tooltip(_, event, item, value) {
    tip.hidden = value === null || value === undefined || value === "";
    if (tip.hidden) return;
    const lines = typeof value === "object" ? Object.entries(value).map(([key, each]) => `${key}: ${each}`) : [String(value)];
    tip.replaceChildren(...lines.map((line) => element("div", line)));
    tip.style.left = `${Math.max(0, Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 4))}px`;
    tip.style.top = `${Math.max(0, Math.min(event.clientY + 12, innerHeight - tip.offsetHeight - 4))}px`;
  }

  // More marks than this are painted on a canvas; fewer are elements, sharp on paper.
  const CANVAS_FROM = 3000;
  const drawn = new Map(); // element of a panel -> what is drawn in it

  async function draw(holder, colours = theme()) {
    const chart = report.charts[holder.dataset.panel];
    const panel = chart.panels[Number(holder.dataset.number)];
    const part = chart.parts.length ? chart.parts[partOf(holder.dataset.panel)] : undefined;
    const rows = rowsOf(chart.tables[panel.data], part);
    drawn.get(holder)?.finalize();
    drawn.delete(holder);
    holder.replaceChildren();
    holder.classList.toggle("empty", rows.length === 0);
    if (rows.length === 0) {
      holder.textContent = "nothing was recorded here";
      return;
    }
    const axis = { labelLimit: Math.max(90, Math.min(260, holder.clientWidth * 0.5)) };
    const config = { ...report.themes[colours], axisY: axis };
    // A layer may name a table of its own.
    const layer = panel.spec.layer
      ?.map((each) => (each.data ? { ...each, data: { values: rowsOf(chart.tables[each.data.name], part) } } : each))
      .filter((each) => !each.data || each.data.values.length > 0);
    const spec = {
      width: "container", autosize: { type: "fit-x", contains: "padding" }, data: { values: rows }, ...panel.spec, ...(layer && { layer }), config,
    };
    // A chart that is drawn again meanwhile takes the place of this one.
    const into = holder.appendChild(element("div"));
    const { view, finalize } = await vegaEmbed(into, spec, {
      mode: "vega-lite", renderer: rows.length > CANVAS_FROM ? "canvas" : "svg", actions: false, defaultStyle: false,
      ast: true, hover: true, tooltip, loader: { load: refuse, sanitize: refuse, http: refuse, file: refuse },
    });
    if (!into.isConnected) {
      finalize();
      return;
    }
    drawn.set(holder, { view, finalize, rows, part });
    if (panel.cursor) follow(holder, view);
  }

  const refuse = () => Promise.reject(new Error("this page loads nothing"));

  function partOf(name) {
    const select = document.querySelector(`select[data-chart="${name}"]`);
    return select ? Number(select.value) : 0;
  }

  const holders = [...document.querySelectorAll("[data-panel]")];
  const of = (name) => holders.filter((holder) => holder.dataset.panel === name);

  // ---- one cursor over all charts with the same axis of time ----------------------------------------------------------
  function follow(holder, view) {
    const hair = holder.appendChild(element("div", undefined, { class: "hair", hidden: "", "aria-hidden": "true" }));
    holder.onpointermove = (event) => {
      const at = event.clientX - holder.getBoundingClientRect().left - view.origin()[0] - leftPadding(view);
      show(holder.dataset.panel, view.scale("x").invert(at));
    };
    drawn.get(holder).hair = hair;
  }

  const leftPadding = (view) => view.padding().left ?? 0;

  function show(name, time) {
    const slider = document.querySelector(`[data-cursor="${name}"]`);
    const second = Math.max(0, Math.min(Number(slider.max), Math.round(time)));
    slider.value = second;
    for (const holder of of(name)) {
      const found = drawn.get(holder);
      if (!found?.hair) continue;
      found.hair.hidden = false;
      found.hair.style.left = `${found.view.scale("x")(second) + found.view.origin()[0] + leftPadding(found.view)}px`;
    }
    readOut(name, second);
  }

  // The values nearest to a second, one line for each run.
  function readOut(name, second) {
    const table = document.querySelector(`[data-readout="${name}"]`);
    const chart = report.charts[name];
    const fields = chart.panels.map((panel) => ({ data: panel.data, field: panel.spec.encoding.y.field, title: panel.spec.encoding.y.title }));
    const lines = new Map();
    const seen = new Set();
    for (const holder of of(name)) {
      const found = drawn.get(holder);
      const data = chart.panels[Number(holder.dataset.number)].data;
      if (!found || seen.has(data)) continue;
      seen.add(data);
      for (const row of found.rows) {
        const key = `${row.system}\u0000${row.series}`;
        const apart = Math.abs(row.time - second);
        const known = lines.get(key);
        if (!known || apart < known.apart) lines.set(key, { row, apart });
      }
    }
    const head = element("tr");
    head.append(element("th", `second ${second}`, { scope: "col" }), ...fields.map((each) => element("th", each.title, { scope: "col", class: "n" })));
    const body = [...lines.values()].map(({ row, apart }) => {
      const line = element("tr");
      line.append(element("th", row.series, { scope: "row" }), ...fields.map(({ field }) => {
        const value = apart > 2 ? undefined : row[field];
        return element("td", value === undefined || value === null ? "–" : value.toLocaleString("en"), { class: "n" });
      }));
      return line;
    });
    table.replaceChildren(head, ...body);
  }

  for (const slider of document.querySelectorAll("[data-cursor]")) {
    slider.addEventListener("input", () => show(slider.dataset.cursor, Number(slider.value)));
  }

  function setSlider(name) {
    const slider = document.querySelector(`[data-cursor="${name}"]`);
    if (!slider) return;
    let last = 0;
    for (const holder of of(name)) for (const row of drawn.get(holder)?.rows ?? []) last = Math.max(last, row.time);
    slider.max = String(Math.ceil(last));
    slider.value = "0";
    document.querySelector(`[data-readout="${name}"]`).replaceChildren();
  }

  // ---- what is chosen -------------------------------------------------------------------------------------------------
  for (const select of document.querySelectorAll("select[data-chart]")) {
    select.addEventListener("change", () => {
      const part = select.selectedOptions[0].textContent;
      // The other charts go along where they have the same.
      for (const other of document.querySelectorAll("select[data-chart]")) {
        const match = [...other.options].find((option) => option.textContent === part);
        if (match) other.value = match.value;
        if (match) drawChart(other.dataset.chart);
      }
    });
  }

  async function drawChart(name, colours = theme()) {
    await Promise.all(of(name).map((holder) => draw(holder, colours)));
    setSlider(name);
  }

  // One after the other, so that the first can be read while the others are drawn; a later call takes over.
  let drawing = 0;
  async function drawAll() {
    const mine = ++drawing;
    const colours = theme();
    root.dataset.theme = colours;
    root.dataset.drawn = "no";
    for (const name of Object.keys(report.charts)) {
      await new Promise((go) => { setTimeout(go); });
      if (mine !== drawing) return;
      await drawChart(name, colours);
    }
    root.dataset.drawn = "yes";
  }

  const button = document.getElementById("theme");
  button.hidden = false;
  button.addEventListener("click", () => {
    chosen = theme() === "dark" ? "light" : "dark";
    drawAll();
  });
  prefersDark.addEventListener("change", () => drawAll());
  // Paper is white. A browser does not wait for more than what is under way, so nothing is done one after the other here.
  addEventListener("beforeprint", () => {
    if (theme() === "light") return;
    root.dataset.theme = "light";
    for (const name of Object.keys(report.charts)) drawChart(name, "light");
  });
  addEventListener("afterprint", () => {
    if (theme() !== "light") drawAll();
  });

  // ---- matrix ---------------------------------------------------------------------------------------------------------
  const [across, down, metric] = ["x", "y", "metric"].map((name) => document.getElementById(`matrix-${name}`));
  if (across) {
    const { dimensions, lines } = content("matrix-data");
    const unique = (values) => [...new Set(values)];
    const pivot = () => {
      const x = across.value;
      const others = [down.value, ...dimensions].filter((name, at, all) => name !== x && all.indexOf(name) === at);
      const place = (line) => others.map((name) => line.at[name] ?? "");
      const known = lines.filter((line) => line.values[metric.value]);
      const columns = unique(known.map((line) => line.at[x] ?? ""));
      const rows = unique(known.map((line) => JSON.stringify(place(line))));
      const cells = new Map(known.map((line) => [JSON.stringify([place(line), line.at[x] ?? ""]), line.values[metric.value]]));
      const positive = known.map((line) => line.values[metric.value][0]).filter((value) => value > 0).map(Math.log);
      const [least, most] = [Math.min(...positive), Math.max(...positive)];
      const head = element("tr");
      head.append(...others.map((name) => element("th", name, { scope: "col" })), ...columns.map((name) => element("th", name, { scope: "col", class: "n" })));
      const body = rows.map((row) => {
        const line = element("tr");
        line.append(...JSON.parse(row).map((name) => element("th", name, { scope: "row" })));
        for (const name of columns) {
          const cell = cells.get(JSON.stringify([JSON.parse(row), name]));
          const made = element("td", cell ? cell[1] : "–");
          if (cell && most > least && cell[0] > 0) {
            const share = Math.round((45 * (Math.log(cell[0]) - least)) / (most - least));
            made.style.background = `color-mix(in srgb, var(--accent) ${share}%, transparent)`;
          }
          line.append(made);
        }
        return line;
      });
      const top = element("thead");
      top.append(head);
      const rest = element("tbody");
      rest.append(...body);
      document.getElementById("matrix-table").replaceChildren(top, rest);
    };
    for (const select of [across, down, metric]) select.addEventListener("change", pivot);
    pivot();
  }

  drawAll();
  let width = innerWidth;
  addEventListener("resize", () => {
    // The bar of a phone's browser changes the height alone.
    if (innerWidth !== width) {
      width = innerWidth;
      drawAll();
    }
  });
})();
