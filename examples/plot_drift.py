"""
A stream that changes
=====================

Rows come one by one, are predicted, and then learned. Halfway, what the user likes is reversed. The
model keeps figures of its own predictions, and says when its loss has risen.
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
# `watch` looks on; it changes nothing of the model.

model = SparseOnlineClassifier("ftrl", l1=0.1).start(classes=[False, True])
drifts = []
watch = model.watch(window=300, on_drift=drifts.append)
accuracy = []
for t in range(N_ROWS):
    row, liked = visit(t)
    model.learn_one(row, liked)
    accuracy.append(watch.rolling["accuracy"] if t % 50 == 0 else np.nan)
print("drift was reported at", drifts)

# %%

rounds = np.arange(N_ROWS)[::50]
plt.figure(figsize=(7, 3), layout="constrained")
plt.plot(rounds, accuracy[::50], label="accuracy of the last 300")
plt.axvline(CHANGE, color="grey", label="the change")
for number, at in enumerate(drifts):
    plt.axvline(at, color="red", linestyle="--", label="reported" if number == 0 else None)
plt.xlabel("row")
plt.legend()
plt.show()
