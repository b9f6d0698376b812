"use strict";
// Draws the charts of the page with Vega. Texts are added to the document only as text, never as HTML.
(() => {
  const content = (id) => JSON.parse(document.getElementById(id).textContent);
  const report = content("report-data");
  const root = document.documentElement;
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null; // theme that the reader chose with the button
  const theme = () => chosen ?? (prefersDark.matches ? "dark" : "light");

  // ---- tables -------------------------------------------------------------------------------------------------------
  // Returns the values of a column. A column of texts is packed as distinct texts and the position of each value.
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

  // Number of rows above which a chart is painted on a canvas. Smaller charts are SVG, which is sharp on paper.
  const CANVAS_FROM = 3000;
  const drawn = new Map(); // element of a panel -> its view and its rows

  async function draw(holder, colours = theme()) {
    const chart = report.charts[holder.dataset.panel];
    const panel = chart.panels[Number(holder.dataset.number)];
    const part = chart.parts.length ? chart.parts[partOf(holder.dataset.panel)] : undefined;
    const rows = rowsOf(chart.tables[panel.data], part);
    drawn.get(holder)?.finalize();
    drawn.delete(holder);
    holder.replaceChildren();
    // Hide a panel for which the chosen part has no data.
    holder.closest("figure").hidden = rows.length === 0;
    if (rows.length === 0) return;
    const axis = { labelLimit: Math.max(90, Math.min(260, holder.clientWidth * 0.5)) };
    const config = { ...report.themes[colours], axisY: axis };
    // A layer may draw another table than the panel.
    const layer = panel.spec.layer
      ?.map((each) => (each.data ? { ...each, data: { values: rowsOf(chart.tables[each.data.name], part) } } : each))
      .filter((each) => !each.data || each.data.values.length > 0);
    const encoding = { ...panel.spec.encoding };
    for (const [channel, domain] of Object.entries(panel.domains[part] ?? {})) {
      encoding[channel] = { ...encoding[channel], scale: { ...encoding[channel].scale, domain } };
    }
    const params = panel.cursor && [{ name: "zoom", value: zooms.get(holder.dataset.panel) }];
    const spec = {
      width: "container", autosize: { type: "fit-x", contains: "padding" }, data: { values: rows }, ...panel.spec, encoding, ...(layer && { layer }), ...(params && { params }), config,
    };
    // If the chart is drawn again meanwhile, that drawing replaces this one.
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

  const refuse = () => Promise.reject(new Error("this page does not load anything"));

  function partOf(name) {
    const select = document.querySelector(`select[data-chart="${name}"]`);
    return select ? Number(select.value) : 0;
  }

  const holders = [...document.querySelectorAll("[data-panel]")];
  const of = (name) => holders.filter((holder) => holder.dataset.panel === name);

  // ---- common cursor and common range of seconds for all panels of a chart over time ----------------------------------
  const whole = new Map(); // name of a chart -> its last second
  const zooms = new Map(); // name of a chart -> the first and the last shown second
  const SHORTEST = 2;

  function follow(holder, view) {
    const name = holder.dataset.panel;
    const hair = holder.appendChild(element("div", undefined, { class: "hair", hidden: "", "aria-hidden": "true" }));
    const band = holder.appendChild(element("div", undefined, { class: "band", hidden: "", "aria-hidden": "true" }));
    Object.assign(drawn.get(holder), { hair, band });
    const second = (event) => {
      const at = event.clientX - holder.getBoundingClientRect().left - view.origin()[0] - leftPadding(view);
      const [first, last] = zooms.get(name);
      return Math.max(first, Math.min(last, view.scale("x").invert(at)));
    };
    let from = null;
    holder.onpointerdown = (event) => {
      // Leave touches to the browser: they scroll.
      if (event.button !== 0 || event.pointerType === "touch") return;
      from = second(event);
      holder.setPointerCapture(event.pointerId);
    };
    holder.onpointermove = (event) => {
      show(name, second(event));
      if (from !== null) mark(name, from, second(event));
    };
    holder.onpointerup = (event) => {
      if (from === null) return;
      const ends = [from, second(event)].sort((a, b) => a - b);
      from = null;
      mark(name);
      // Ignore clicks: only a drag zooms, and a double click shows everything.
      if (Math.abs(place(view, ends[1]) - place(view, ends[0])) > 5) zoom(name, ends);
    };
    holder.onpointercancel = () => {
      from = null;
      mark(name);
    };
    holder.ondblclick = () => zoom(name, [0, whole.get(name)]);
  }

  const place = (view, second) => view.scale("x")(second) + view.origin()[0] + leftPadding(view);

  // Marks the range that a drag selects; without ends, removes the mark.
  function mark(name, from, to) {
    for (const holder of of(name)) {
      const { view, band } = drawn.get(holder) ?? {};
      if (!band) continue;
      band.hidden = from === undefined;
      if (band.hidden) continue;
      const [left, right] = [from, to].map((second) => place(view, second)).sort((a, b) => a - b);
      band.style.left = `${left}px`;
      band.style.width = `${right - left}px`;
    }
  }

  // Sets the shown range to whole seconds, to at least SHORTEST of them, within the whole time.
  function choose(name, [from, to]) {
    const end = whole.get(name);
    const length = Math.min(end, Math.max(SHORTEST, Math.ceil(to) - Math.floor(from)));
    const first = Math.max(0, Math.min(end - length, Math.floor(from)));
    zooms.set(name, [first, first + length]);
    const slider = document.querySelector(`[data-cursor="${name}"]`);
    slider.min = String(first);
    slider.max = String(first + length);
    document.querySelector(`[data-shown="${name}"]`).textContent = length < end ? `seconds ${first} to ${first + length} of ${end}` : "";
  }

  async function zoom(name, seconds) {
    choose(name, seconds);
    const holders = of(name).filter((holder) => drawn.has(holder));
    await Promise.all(holders.map((holder) => drawn.get(holder).view.signal("zoom", zooms.get(name)).runAsync()));
    // The browser has moved the slider into the range, so move the line there, too.
    if (holders.some((holder) => drawn.get(holder)?.hair.hidden === false)) show(name, Number(document.querySelector(`[data-cursor="${name}"]`).value));
  }

  for (const button of document.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => {
      const name = button.dataset.zoom;
      if (!zooms.has(name)) return; // nothing is drawn yet
      const [first, last] = zooms.get(name);
      if (!button.dataset.by) {
        zoom(name, [0, whole.get(name)]);
        return;
      }
      // Zoom around the second of the slider, so that it keeps its place.
      const at = Number(document.querySelector(`[data-cursor="${name}"]`).value);
      const by = Number(button.dataset.by);
      const from = Math.max(0, at - (at - first) * by);
      zoom(name, [from, from + (last - first) * by]);
    });
  }

  const leftPadding = (view) => view.padding().left ?? 0;

  function show(name, time) {
    const slider = document.querySelector(`[data-cursor="${name}"]`);
    slider.value = String(Math.round(time));
    const second = Number(slider.value);
    for (const holder of of(name)) {
      const found = drawn.get(holder);
      if (!found?.hair) continue;
      found.hair.hidden = false;
      found.hair.style.left = `${place(found.view, second)}px`;
    }
    readOut(name, second);
  }

  // Shows the values nearest to a second, in one line for each run.
  function readOut(name, second) {
    const table = document.querySelector(`[data-readout="${name}"]`);
    const chart = report.charts[name];
    // Panels of several systems may show the same field.
    const fields = [...new Map(chart.panels.map(({ spec: { encoding: { y } } }) => [y.field, y])).values()];
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

  // Sets the whole time of the chosen part. The shown range is kept if that time is as long as before.
  function setTime(name) {
    const chart = report.charts[name];
    const timed = new Set(chart.panels.filter((panel) => panel.cursor).map((panel) => panel.data));
    if (timed.size === 0) return;
    const part = chart.parts[partOf(name)];
    let last = SHORTEST;
    for (const data of timed) for (const row of rowsOf(chart.tables[data], part)) last = Math.max(last, Math.ceil(row.time));
    if (whole.get(name) !== last) zooms.set(name, [0, last]);
    whole.set(name, last);
    document.querySelector(`[data-readout="${name}"]`).replaceChildren();
    choose(name, zooms.get(name));
    document.querySelector(`[data-cursor="${name}"]`).value = String(zooms.get(name)[0]);
  }

  // ---- choice of a part -----------------------------------------------------------------------------------------------
  for (const select of document.querySelectorAll("select[data-chart]")) {
    select.addEventListener("change", () => {
      const part = select.selectedOptions[0].textContent;
      // Show the same part in all other charts that have it.
      for (const other of document.querySelectorAll("select[data-chart]")) {
        const match = [...other.options].find((option) => option.textContent === part);
        if (match) other.value = match.value;
        if (match) drawChart(other.dataset.chart);
      }
    });
  }

  async function drawChart(name, colours = theme()) {
    setTime(name);
    await Promise.all(of(name).map((holder) => draw(holder, colours)));
  }

  // Draws one chart after another, so that the first can be read early. A later call ends an earlier one.
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
  // Print on white. Start all drawings at once, because a browser waits only for those that have started.
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
    // The bar of a phone's browser changes only the height, which needs no new drawing.
    if (innerWidth !== width) {
      width = innerWidth;
      drawAll();
    }
  });
})();
