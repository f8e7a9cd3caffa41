"""
From a file to a model, and back
================================

CSV files are learned in one pass, whatever their size; the model is one file.
"""

import random
import tempfile
from pathlib import Path

import rarefy

folder = Path(tempfile.mkdtemp())
random.seed(0)
lines = ["price,shop,bought"]
for _ in range(5_000):
    price, shop = random.randrange(1, 100), random.choice(["north", "south", "web"])
    chance = 0.8 if price < 30 else 0.2
    bought = random.random() < (chance if shop != "web" else 0.9 * chance)
    lines.append(f"{price},{shop},{'yes' if bought else 'no'}")
(folder / "sales.csv").write_text("\n".join(lines) + "\n")

# %%
# A tenth of the rows is not learned, but predicted by the final model.

model = rarefy.train(folder / "sales.csv", label="bought", holdout=0.1)
print(model.holdout_)

# %%
# Saved, loaded, asked, and explained:

model.save(folder / "sales.model")
again = rarefy.load(folder / "sales.model")
customer = {"price": 20, "shop": "north"}
print(again.predict([customer]), again.predict_proba([customer]))
print(rarefy.explain(again, [customer]).parts)
