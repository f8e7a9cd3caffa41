"""
A stream that changes
=====================

Rows come one by one, are predicted, and then learned. Halfway through, the taste of the users is
reversed. `watch` keeps metrics of the predictions and reports when the loss has risen. What to do
then is up to the program: a model that has learned for a long time adapts slowly, and a new model
adapts fast.
"""

import matplotlib.pyplot as plt
import numpy as np

from rarefy import SparseOnlineClassifier

rng = np.random.default_rng(0)
TOPICS = ["sport", "music", "travel", "science", "cars", "food"]
N_ROWS, CHANGE = 6_000, 3_000


def visit(t):
    topic, device = rng.choice(TOPICS), rng.choice(["phone", "desk"])
    likes = topic in (TOPICS[:3] if t < CHANGE else TOPICS[3:])
    liked = rng.random() < (0.9 if likes else 0.1)
    return {"topic": str(topic), "device": str(device)}, bool(liked)


# %%
# `watch` only observes; it does not change the model.


def begin():
    model = SparseOnlineClassifier("ftrl", l1=0.1).start(classes=[False, True])
    return model, model.watch(window=300, on_drift=drifts.append)


drifts = []
(old, of_old), (new, of_new) = begin(), begin()
accuracy = []
for t in range(N_ROWS):
    row, liked = visit(t)
    old.learn_one(row, liked)
    n_before = len(drifts)
    new.learn_one(row, liked)
    if len(drifts) > n_before:
        new, of_new = begin()
    if t % 50 == 0 and t > 0:
        accuracy.append((t, of_old.rolling["accuracy"], of_new.rolling["accuracy"]))
print("drift was reported at", sorted(set(drifts)))

# %%

rounds, keeps_learning, starts_again = zip(*accuracy, strict=True)
plt.figure(figsize=(7, 3), layout="constrained")
plt.plot(rounds, keeps_learning, label="keeps learning")
plt.plot(rounds, starts_again, label="starts again when drift is reported")
plt.axvline(CHANGE, color="grey", linestyle="--", label="the change")
plt.xlabel("row")
plt.ylabel("accuracy of the last 300")
plt.legend()
plt.show()
