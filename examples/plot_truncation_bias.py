"""
A rare word that is always right
================================

Two features: one occurs in half of the rows and says little, the other in one of a hundred and is
nearly always right. RDA keeps the first, feature-aware rules keep the second.
"""

import matplotlib.pyplot as plt
import numpy as np

from rarefy import SparseOnlineClassifier

rng = np.random.default_rng(0)
n = 2_000
y = rng.random(n) < 0.5
X = np.zeros((n, 2))
X[:, 0] = rng.random(n) < np.where(y, 0.53, 0.47)  # frequent, hardly better than a coin
X[:, 1] = rng.random(n) < np.where(y, 0.019, 0.001)  # rare, and right in 19 of 20 cases

# %%
# Learn row by row, and keep the weights of each round.

rules = {
    "rda": SparseOnlineClassifier("rda", l1=0.008, eta0=0.5),
    "frda, q = 2": SparseOnlineClassifier("frda", q=2, l1=0.003, eta0=0.5),
    "scale-free": SparseOnlineClassifier(l1=3.0),
}
weights = {name: np.zeros((n, 2)) for name in rules}
for name, model in rules.items():
    for row in range(n):
        model.partial_fit(X[[row]], y[[row]], classes=[False, True])
        weights[name][row] = model.coef_[0]

# %%
# A weight of zero means that the feature has no part in the model.

figure, axes = plt.subplots(1, len(rules), figsize=(10, 3), sharex=True, layout="constrained")
for ax, (name, of_rule) in zip(axes, weights.items(), strict=True):
    ax.plot(of_rule[:, 0], label="frequent, says little")
    ax.plot(of_rule[:, 1], label="rare, says much")
    ax.axhline(0.0, color="black", linewidth=0.8)
    ax.set(title=name, xlabel="round")
axes[0].set_ylabel("weight")
axes[0].legend()
plt.show()
