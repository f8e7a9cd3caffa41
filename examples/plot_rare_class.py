"""
The threshold of a rare class
=============================

With 3 % positives, a model that ranks rows well may still never predict one. The remedy is not
another model but another threshold, chosen on rows that were not learned.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import precision_recall_curve

from rarefy import SparseOnlineClassifier, evaluate

rng = np.random.default_rng(0)
X = rng.normal(size=(9_000, 30))
y = X[:, 0] + X[:, 1] + rng.normal(size=9_000) > 3.2
learned, held_out, new = np.split(rng.permutation(9_000), [3_000, 6_000])
print(f"{y.mean():.1%} positives")

model = SparseOnlineClassifier().fit(X[learned], y[learned])
found = evaluate(model, X[held_out], y[held_out])
before = evaluate(model, X[new], y[new])["f1"]
model.set_params(decision_threshold=found["best_threshold"])
after = evaluate(model, X[new], y[new])["f1"]
print(f"F1 on new rows: {before:.2f}, with the threshold {after:.2f}")

# %%

precision, recall, thresholds = precision_recall_curve(
    y[held_out], model.decision_function(X[held_out])
)
plt.figure(figsize=(5, 3.5), layout="constrained")
plt.plot(recall, precision)
for threshold, name in ((0.0, "threshold 0"), (found["best_threshold"], "best F1")):
    at = min(np.searchsorted(thresholds, threshold), len(thresholds) - 1)
    plt.plot(recall[at], precision[at], "o", label=name)
plt.xlabel("recall")
plt.ylabel("precision")
plt.legend()
plt.show()
