// The page "Which features live?": two sliders, three pictures of the pixels, and a pixel's path.

(function () {
  const place = document.getElementById("alive");
  if (!place) return;
  const ROWS = DIGITS.rows.map((row) => row.map((value) => value / 16)), LABELS = DIGITS.labels;
  const ETA0 = 1, WIDTH = 8, NORMS = [1, 1.5, 2, 3, Infinity];
  const SHARE = ROWS[0].map((_, i) => ROWS.filter((row) => row[i] > 0).length / ROWS.length);
  let watched = 40; // the pixel whose path is drawn

  place.innerHTML = `
    <p><label><span>l1</span> <input type="range" id="alive-l1" min="-4" max="-0.5" step="0.05" value="-2.5"></label>
       <output id="alive-l1-value"></output></p>
    <p><label><span>q</span> <input type="range" id="alive-q" min="0" max="${NORMS.length - 1}" step="1" value="0"></label>
       <output id="alive-q-value"></output></p>
    <div class="alive-row">
      <figure><b>The pixels</b><div class="alive-grid" id="alive-share"></div>
        <figcaption>The darker, the more often a pixel is lit.</figcaption></figure>
      <figure><b>FRDA</b><div class="alive-grid" id="alive-frda"></div><figcaption id="alive-frda-says"></figcaption></figure>
      <figure><b>RDA</b><div class="alive-grid" id="alive-rda"></div><figcaption id="alive-rda-says"></figcaption></figure>
    </div>
    <div class="alive-row" id="alive-paths"></div>`;

  const element = (id) => document.getElementById(id);

  function paint(id, values, colour, says) {
    element(id).replaceChildren(...values.map((value, i) => {
      const cell = document.createElement("button");
      cell.style.background = colour(value);
      cell.title = says(value, i);
      if (value === 0) cell.textContent = "·";
      if (i === watched) cell.className = "watched";
      cell.onclick = () => { watched = i; show(); };
      return cell;
    }));
  }

  function shade(value, largest) { // blue for a 4, red for a 9
    if (value === 0) return "#f4f4f4";
    const strength = Math.min(1, 0.25 + 0.75 * Math.abs(value) / largest);
    return value > 0 ? `rgba(200, 40, 40, ${strength})` : `rgba(30, 80, 200, ${strength})`;
  }

  function paintWeights(id, found) {
    const largest = Math.max(...Array.from(found.w, Math.abs), 1e-9);
    paint(id, Array.from(found.w), (w) => shade(w, largest),
      (w, i) => `pixel ${i}: weight ${w.toFixed(3)}, lit in ${(100 * SHARE[i]).toFixed(0)} % of the rows`);
  }

  function summary(l1, found) {
    const living = SHARE.filter((_, i) => found.w[i] !== 0);
    const mean = living.reduce((sum, share) => sum + share, 0) / living.length;
    const rare = living.length ? ` They are lit in ${(100 * mean).toFixed(0)} % of the rows on average.` : "";
    return `l1 = ${l1.toPrecision(2)}: ${found.alive} of 64 pixels alive.${rare} ${(100 * found.accuracy).toFixed(1)} % right.`;
  }

  function drawPath(title, path) {
    const wide = 290, high = 140, most = Math.max(...path.map((p) => Math.max(p.sum, p.threshold)), 1e-9);
    const line = (key) => path.map((p, t) =>
      `${(wide * t / path.length).toFixed(1)},${(high - high * p[key] / most).toFixed(1)}`).join(" ");
    return `<figure><b>${title}: pixel ${watched}</b>
      <svg viewBox="-26 -8 ${wide + 32} ${high + 30}" width="100%">
      <path d="M0,0 V${high} H${wide}" fill="none" stroke="#888"/>
      <text x="-4" y="6" text-anchor="end">${most.toPrecision(2)}</text>
      <text x="-4" y="${high}" text-anchor="end">0</text>
      <text x="0" y="${high + 16}">round 1</text>
      <text x="${wide}" y="${high + 16}" text-anchor="end">round ${path.length}</text>
      <polyline points="${line("threshold")}" fill="none" stroke="#888" stroke-width="2" stroke-dasharray="5 3"/>
      <polyline points="${line("sum")}" fill="none" stroke="#d04040" stroke-width="2"/></svg>
      <figcaption>Red: the sum of its gradients. Dashed: its threshold.</figcaption></figure>`;
  }

  function show() {
    const l1 = 10 ** Number(element("alive-l1").value), q = NORMS[Number(element("alive-q").value)];
    element("alive-l1-value").textContent = l1.toPrecision(2);
    element("alive-q-value").textContent = q === Infinity ? "∞" : q;
    const frda = learn(ROWS, LABELS, { l1, q, eta0: ETA0, watch: watched });
    const same = l1ForAsMany(ROWS, LABELS, frda.alive, ETA0);
    const rda = learn(ROWS, LABELS, { l1: same, q: null, eta0: ETA0, watch: watched });
    paint("alive-share", SHARE, (share) => `rgba(40, 120, 60, ${share})`,
      (share, i) => `pixel ${i}: lit in ${(100 * share).toFixed(0)} % of the rows`);
    paintWeights("alive-frda", frda);
    paintWeights("alive-rda", rda);
    element("alive-frda-says").textContent = summary(l1, frda);
    element("alive-rda-says").textContent = summary(same, rda);
    element("alive-paths").innerHTML = drawPath("FRDA", frda.path) + drawPath("RDA", rda.path);
  }

  element("alive-l1").oninput = show;
  element("alive-q").oninput = show;
  show();
})();
