"""
Between the old model and the new one
=====================================

A model that was trained further is more accurate, but wrong on some rows that the old model had
right. Models between the two lose fewer of these answers; `rarefy.update` chooses the best one
within a budget.
"""

import matplotlib.pyplot as plt
import numpy as np

import rarefy

rng = np.random.default_rng(0)
X = rng.normal(size=(12_000, 40))
y = X @ rng.normal(size=40) + 3.0 * rng.normal(size=12_000) > 0.0

old = rarefy.SparseOnlineClassifier().fit(X[:400], y[:400])
updated = rarefy.update(old, X[400:], y[400:], max_negative=0.03)
for name in ("old", "plain", "chosen"):
    point = getattr(updated, name)
    print(f"{name}: accuracy {point.accuracy:.3f}, lost {point.lost_rate:.3f}")

# %%

lost = [point.lost_rate for point in updated.points]
accuracy = [point.accuracy for point in updated.points]
plt.figure(figsize=(6, 3.5), layout="constrained")
plt.plot(lost, accuracy, ".-", color="grey", label="from the old model to the new one")
plt.plot(updated.chosen.lost_rate, updated.chosen.accuracy, "o", label="chosen")
plt.axvline(0.03, linestyle="--", color="red", label="budget")
plt.xlabel("right answers that are lost, of all rows")
plt.ylabel("accuracy")
plt.legend()
plt.show()
