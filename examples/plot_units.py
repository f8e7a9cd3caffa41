"""
Tables in raw units
===================

The features of the breast cancer data reach from 0.001 to 4,000. Gradient descent with one step
size needs them scaled; the default rule of rarefy does not care.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rarefy import SparseOnlineClassifier

X, y = load_breast_cancer(return_X_y=True)
methods = {
    "SGD, raw": SGDClassifier(loss="log_loss", penalty="l1", random_state=0),
    "SGD, scaled": make_pipeline(
        StandardScaler(), SGDClassifier(loss="log_loss", penalty="l1", random_state=0)
    ),
    "rarefy, raw": SparseOnlineClassifier(),
    "rarefy, scaled": make_pipeline(StandardScaler(), SparseOnlineClassifier()),
}
accuracy = {name: cross_val_score(method, X, y) for name, method in methods.items()}

# %%

plt.figure(figsize=(6, 2.5), layout="constrained")
plt.boxplot(list(accuracy.values()), orientation="horizontal", tick_labels=list(accuracy))
plt.xlabel("accuracy in five folds")
plt.show()

# %%
# Weights are in the units of the data: in thousandths, a weight is a thousand times as small.

print(SparseOnlineClassifier().fit(X, y).coef_[0, 0])
print(SparseOnlineClassifier().fit(X * 1_000.0, y).coef_[0, 0])
