// What a timeline of the heap does in a browser: a panel with the values of the moment under the pointer (or of the one
// chosen with the arrow keys), and bands that stand out while their place in the legend is pointed at. It reads the values
// from <metadata>. Lines that begin with two slashes and indentation do not go into the pictures.
"use strict";
(() => {
  const svg = document.currentScript.closest("svg");
  const data = JSON.parse(svg.querySelector("metadata").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  // Opened by itself, the picture is as wide as the window; on a phone it is set anew, see below.
  const window_width = document.documentElement === svg ? document.documentElement.clientWidth || window.innerWidth : 0;
  const compact = window_width > 0 && window_width < 640;
  if (window_width && !compact) {
    svg.setAttribute("width", "100%");
    svg.removeAttribute("height");
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

  const fit = (text, room) => {
    const whole = text.textContent;
    for (let kept = whole.length; text.getComputedTextLength() > room && kept > 1; kept--)
      text.textContent = whole.slice(0, kept - 1) + "…";
  };
  // For a window of a phone: the chart is narrower, with letters as large as before, and everything else stands in one column.
  const setNarrow = (width) => {
    const pad = 12, oldLeft = data.left, scale = (width - pad - oldLeft) / data.width;
    const moved = (x) => oldLeft + (x - oldLeft) * scale;
    const chartWidth = data.width * scale;
    const seen = [];
    for (const part of chart.querySelectorAll("path, rect, circle, text")) {
      if (part.matches(".cursor")) continue;
      if (part.localName === "path") {
        part.setAttribute("transform", `translate(${oldLeft * (1 - scale)} 0) scale(${scale} 1)`);
        part.setAttribute("vector-effect", "non-scaling-stroke");
      } else if (part.localName === "circle") part.setAttribute("cx", moved(Number(part.getAttribute("cx"))));
      else if (part.matches("rect:not(.flag)")) {
        part.setAttribute("x", moved(Number(part.getAttribute("x"))));
        part.setAttribute("width", Number(part.getAttribute("width")) * scale);
      } else if (part.matches(".inside")) part.remove();
      else if (part.matches("text.middle.muted")) {  // the hours of the axis, as far as there is room
        part.setAttribute("x", moved(Number(part.getAttribute("x"))));
        const box = part.getBBox();
        if (box.x + box.width > width || seen.some((x) => box.x < x + 8)) part.remove();
        else seen.push(box.x + box.width);
      } else if (part.matches("text.muted:not(.end)")) part.setAttribute("x", Math.min(moved(Number(part.getAttribute("x"))), width - 90));
    }
    const flag = chart.querySelector(".flag"), peak = chart.querySelector("text.strong");
    if (flag && peak) {
      const room = Number(flag.getAttribute("width"));
      const x = Math.max(pad, Math.min(xOf(data.peak, scale) - room / 2, width - pad - room));
      flag.setAttribute("x", x);
      peak.setAttribute("x", x + room / 2);
    }
    data.width = chartWidth;
    for (const line of svg.querySelectorAll(":scope > text")) fit(line, width - 2 * pad);
    // The columns of the legend, one below the other, then the notes, broken anew.
    const foot = svg.querySelector(".foot");
    let y = Math.min(...[...foot.querySelectorAll("text")].map((text) => Number(text.getAttribute("y")))) - 18;
    const rows = [...foot.children].filter((part) => part.localName !== "title");
    const paragraphs = [];
    for (let i = 0; i < rows.length; i++) {
      const part = rows[i];
      if (part.matches(".item")) {
        y += 18;
        const [name, value] = part.querySelectorAll("text"), swatch = part.querySelector("path");
        if (swatch) swatch.setAttribute("d", `M${pad} ${y - 4}h14`);
        name.setAttribute("x", pad + 24);
        for (const text of [name, value]) text.setAttribute("y", y);
        value.setAttribute("x", width - pad);
        fit(name, width - 2 * pad - 24 - value.getComputedTextLength() - 8);
      } else if (rows[i + 1] && rows[i + 1].matches("text.end")) {  // a heading and its value
        y += 24;
        part.setAttribute("x", pad);
        part.setAttribute("y", y);
        rows[++i].setAttribute("x", width - pad);
        rows[i].setAttribute("y", y);
      } else {
        if (part.matches(".more") && paragraphs.length) paragraphs[paragraphs.length - 1] += " " + part.textContent;
        else paragraphs.push(part.textContent);
        part.remove();
      }
    }
    y += 8;
    for (const paragraph of paragraphs) {
      let line = null;
      for (const word of paragraph.split(" ")) {
        const before = line ? line.textContent : "";
        if (line) line.textContent = before + " " + word;
        if (!line || line.getComputedTextLength() > width - 2 * pad) {
          if (line) line.textContent = before;
          line = make(foot, "text", {class: "muted", x: pad, y: (y += 18)}, word);
        }
      }
    }
    svg.setAttribute("width", width);
    svg.setAttribute("height", y + 14);
    svg.setAttribute("viewBox", `0 0 ${width} ${y + 14}`);
  };

  // The axis counts time, or bytes: then data.moved has pairs of a time and its place, 0 to 1.
  const moved = data.moved || [];
  const along = (value, from, to) => {
    const next = moved.findIndex((pair) => pair[from] >= value);
    if (next <= 0) return moved.at(next)[to];
    const a = moved[next - 1], b = moved[next];
    return a[to] + ((value - a[from]) / (b[from] - a[from] || 1)) * (b[to] - a[to]);
  };
  const partOf = (time) => moved.length ? along(time, 0, 1) : (time - data.from) / (data.to - data.from || 1);
  const timeOf = (part) => moved.length ? along(part, 1, 0) : data.from + part * (data.to - data.from);
  const xOf = (time, scale = 1) => data.left + partOf(time) * data.width * scale;
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
      if (compact) fit(name, window_width - value.getComputedTextLength() - 70);
      names = Math.max(names, name.getComputedTextLength() + Number(name.getAttribute("x")));
      numbers = Math.max(numbers, value.getComputedTextLength());
    }
    const width = names + 24 + numbers + 10, height = y - 6;
    for (const [, value] of rows) value.setAttribute("x", width - 10);
    box.setAttribute("width", width);
    box.setAttribute("height", height);
    const right = x + 14 + width < data.left + data.width + 10 || x < width + 14;
    const top = Math.max(4, Math.min(data.top + 8, data.top + data.height - height));
    const left = Math.max(2, right ? x + 14 : x - 14 - width);
    panel.setAttribute("transform", `translate(${compact ? Math.max(2, Math.min(left, window_width - width - 2)) : left} ${top})`);
  };

  if (compact) setNarrow(Math.max(320, window_width));
  const place = (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    if (point.x < data.left - 6 || point.x > data.left + data.width + 6) return hide();
    show(nearest(data.times, timeOf((point.x - data.left) / data.width)));
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
