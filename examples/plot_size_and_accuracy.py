"""
How many features does it take?
===============================

A sweep trains a whole grid of penalties at once, and judges each by cross-validation. Here it tells
handwritten eights from all other digits, by their pixels.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import rarefy

X, digit = load_digits(return_X_y=True)
y = digit == 8
found = rarefy.sweep(
    X, y, rule=["scale-free", "fobos"], n_l1=12, folds=5, passes=5, scoring="average_precision"
)

# %%
# The best point, and the smallest model that is as good within one standard error:

for choice in (found.best(), found.one_standard_error()):
    print(choice.parameters, choice.measures["average_precision"], choice.measures["weights"])

# %%
# All points:

table = found.table
rules = np.array(table["rule"])
for rule in ("scale-free", "fobos"):
    of_rule = rules == rule
    kept = np.array(table["weights"])[of_rule]
    scores = np.array(table["average_precision"])[of_rule]
    plt.plot(kept, scores, "o", label=rule)
plt.xlabel("weights kept, of 64")
plt.ylabel("average precision")
plt.legend()
plt.show()
