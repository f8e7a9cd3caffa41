"""Write docs/_static/digits.js: two of scikit-learn's handwritten digits, for the interactive page.

`python tools/make_digits.py`; the page learns to tell them apart in the browser.
"""

import json
from pathlib import Path

from sklearn.datasets import load_digits

FILE = Path(__file__).parents[1] / "docs" / "_static" / "digits.js"
DIGITS = (4, 9)  # the second is the positive class

if __name__ == "__main__":
    X, y = load_digits(return_X_y=True)
    of_both = (y == DIGITS[0]) | (y == DIGITS[1])
    rows = [[int(value) for value in row] for row in X[of_both]]
    labels = [1 if label == DIGITS[1] else -1 for label in y[of_both]]
    data = json.dumps({"rows": rows, "labels": labels}, separators=(",", ":"))
    text = f"// {DIGITS[0]} (-1) and {DIGITS[1]} (+1) of scikit-learn's load_digits, 8 x 8.\n"
    text += f"const DIGITS = {data};\n"
    text += 'if (typeof module !== "undefined") module.exports = DIGITS;\n'
    FILE.write_text(text)
