// RDA and FRDA, round by round, for the logistic loss: what rarefy computes lazily, written eagerly.
// tests/test_interactive.py compares it with rarefy.

function soft(z, threshold) {
  if (z > threshold) return z - threshold;
  if (z < -threshold) return z + threshold;
  return 0;
}

// One pass over rows with labels -1 and +1. `q` is null for RDA (every feature has the penalty l1 in
// every round), and the norm of past gradients by which FRDA scales the penalty: 1, 2, ..., Infinity.
// `watch` is a feature whose path is wanted.
function learn(rows, labels, { l1, q, eta0, watch = null }) {
  const n = rows[0].length;
  const G = new Float64Array(n); // sums of gradients
  const norms = new Float64Array(n); // sums of |g|^q, or the largest |g|
  const R = new Float64Array(n); // sums of intensities: l1 R is the threshold
  const w = new Float64Array(n);
  const path = [];
  let intercept = 0, sumOfSlopes = 0, right = 0;
  rows.forEach((row, index) => {
    const t = index + 1, y = labels[index], eta = eta0 / Math.sqrt(t);
    let score = intercept;
    for (let i = 0; i < n; i++) score += w[i] * row[i];
    if (score >= 0 === y > 0) right += 1;
    const slope = -y / (1 + Math.exp(y * score));
    for (let i = 0; i < n; i++) {
      const g = slope * row[i];
      G[i] += g;
      if (q === null) R[i] = t;
      else {
        norms[i] = q === Infinity ? Math.max(norms[i], Math.abs(g)) : norms[i] + Math.abs(g) ** q;
        R[i] += q === Infinity ? norms[i] : norms[i] ** (1 / q);
      }
      w[i] = -eta * soft(G[i], l1 * R[i]);
    }
    sumOfSlopes += slope;
    intercept = -eta * sumOfSlopes;
    if (watch !== null) path.push({ sum: Math.abs(G[watch]), threshold: l1 * R[watch] });
  });
  return { w, intercept, path, accuracy: right / rows.length, alive: w.filter((v) => v !== 0).length };
}

// The l1 with which RDA keeps about as many features.
function l1ForAsMany(rows, labels, alive, eta0) {
  let low = 1e-6, high = 100;
  for (let step = 0; step < 24; step++) {
    const middle = Math.sqrt(low * high);
    if (learn(rows, labels, { l1: middle, q: null, eta0 }).alive > alive) low = middle;
    else high = middle;
  }
  return high;
}

if (typeof module !== "undefined") module.exports = { learn, l1ForAsMany };
