// What a timeline of the heap does in a browser: a panel with the values of the moment under the pointer (or of the one
// chosen with the arrow keys), and bands that stand out while their place in the legend is pointed at. It reads the values
// from <metadata>. Lines that begin with two slashes and indentation do not go into the pictures.
"use strict";
(() => {
  const svg = document.currentScript.closest("svg");
  const data = JSON.parse(svg.querySelector("metadata").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  // Opened by itself, the picture is as wide as the window.
  if (document.documentElement === svg) {
    svg.setAttribute("width", "100%");
    svg.removeAttribute("height");
    svg.style.minWidth = "640px";
  }
  const chart = svg.querySelector(".chart"), cursor = svg.querySelector(".cursor"), panel = svg.querySelector(".panel");
  const make = (parent, name, attributes, text) => {
    const element = document.createElementNS(SVG, name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (text !== undefined) element.textContent = text;
    return parent.appendChild(element);
  };

  const bytes = (value) => {
    const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    while (Math.abs(value) >= 1024 && unit + 1 < units.length) {
      value /= 1024;
      unit++;
    }
    return value.toFixed(unit ? 1 : 0) + " " + units[unit];
  };
  const seconds = (value) =>
    value >= 100 ? value.toFixed(1) + " s" : value >= 1 ? value.toFixed(3) + " s" : (value * 1e3).toFixed(2) + " ms";

  const xOf = (time) => data.left + ((time - data.from) / (data.to - data.from || 1)) * data.width;
  const nearest = (times, time) => {
    let low = 0, high = times.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times[middle] < time) low = middle + 1;
      else high = middle;
    }
    return low > 0 && time - times[low - 1] < times[low] - time ? low - 1 : low;
  };

  let shown = -1;
  const hide = () => {
    shown = -1;
    cursor.style.display = panel.style.display = "none";
  };
  const show = (index) => {
    if (index === shown || !data.times.length) return;
    shown = index;
    const time = data.times[index], values = data.values[index];
    const x = xOf(time), total = values.reduce((sum, value) => sum + value, 0);
    cursor.setAttribute("transform", `translate(${x} 0)`);
    cursor.style.display = panel.style.display = "";
    panel.replaceChildren();
    const box = make(panel, "rect", {class: "box", rx: 4});
    const rows = [];
    let y = 20;
    const row = (name, value, swatch, kind) => {
      if (swatch) make(panel, "path", {class: swatch, d: `M10 ${y - 4}h12`});
      rows.push([make(panel, "text", {x: swatch ? 28 : 10, y, class: kind}, name), make(panel, "text", {y, class: kind + " end"}, value)]);
      y += 17;
    };
    row(seconds(time), bytes(total), "", "strong");
    for (let group = values.length - 1; group >= 0; group--) {
      if (values[group] <= 0) continue;
      const share = total > 0 ? (100 * values[group]) / total : 0;
      row(data.groups[group][0], bytes(values[group]) + "  " + share.toFixed(share < 1 ? 2 : 1) + " %", "s " + data.groups[group][1], "");
    }
    for (const line of data.lines) {
      if (!line.times.length) continue;
      const at = nearest(line.times, time);
      row(line.label, bytes(line.values[at]), "l " + line.kind, "muted");
    }
    let names = 0, numbers = 0;
    for (const [name, value] of rows) {
      names = Math.max(names, name.getComputedTextLength() + Number(name.getAttribute("x")));
      numbers = Math.max(numbers, value.getComputedTextLength());
    }
    const width = names + 24 + numbers + 10, height = y - 6;
    for (const [, value] of rows) value.setAttribute("x", width - 10);
    box.setAttribute("width", width);
    box.setAttribute("height", height);
    const right = x + 14 + width < data.left + data.width + 10 || x < width + 14;
    const top = Math.max(4, Math.min(data.top + 8, data.top + data.height - height));
    panel.setAttribute("transform", `translate(${Math.max(2, right ? x + 14 : x - 14 - width)} ${top})`);
  };

  const place = (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    if (point.x < data.left - 6 || point.x > data.left + data.width + 6) return hide();
    const time = data.from + ((point.x - data.left) / data.width) * (data.to - data.from);
    show(nearest(data.times, time));
  };
  chart.addEventListener("pointermove", place);
  chart.addEventListener("pointerdown", place);
  chart.addEventListener("pointerleave", hide);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return hide();
    const step = {ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity}[event.key];
    if (step === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const from = shown < 0 ? nearest(data.times, data.peak) - (Number.isFinite(step) ? step : 0) : shown;
    show(Math.max(0, Math.min(data.times.length - 1, from + step)));
  });

  for (const item of svg.querySelectorAll(".item")) {
    const of = item.dataset.of;
    item.addEventListener("pointerenter", () => {
      svg.classList.add("dim");
      for (const part of svg.querySelectorAll(".chart ." + of)) part.classList.add("lit");
    });
    item.addEventListener("pointerleave", () => {
      svg.classList.remove("dim");
      for (const part of svg.querySelectorAll(".lit")) part.classList.remove("lit");
    });
  }
})();
