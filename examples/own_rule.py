"""
A rule of your own
==================

A rule is two functions of a few numbers. It is compiled into the loop, and runs as fast as the
built-in ones.
"""

from typing import NamedTuple

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rarefy


@rarefy.rule("w", "speed")
class Momentum(NamedTuple):
    """Gradient descent with momentum."""

    momentum: float = 0.9

    def weight(self, clock, state):
        return state[0]

    def step(self, clock, state, g, x):
        w, speed = state
        speed = self.momentum * speed - clock.eta * g
        return w + speed, speed


# %%
# As plain Python, where it can be tested:

rule = Momentum()
print(rule.weight(None, (0.25, 0.0)))

# %%
# And in an estimator:

X, y = load_breast_cancer(return_X_y=True)
for tried in (Momentum(), Momentum(momentum=0.0), "ogd"):
    model = rarefy.SparseOnlineClassifier(rule=tried, eta0=0.05, passes=3)
    print(tried, cross_val_score(make_pipeline(StandardScaler(), model), X, y).mean())
