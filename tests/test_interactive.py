"""The recursion of the interactive page, in JavaScript, against rarefy."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from rarefy import SparseOnlineClassifier

STATIC = Path(__file__).parents[1] / "docs" / "_static"
PROGRAM = """
const { learn } = require("./recursion.js"), digits = require("./digits.js");
const rows = digits.rows.map((row) => row.map((value) => value / 16));
const said = process.argv[2];
const q = said === "null" ? null : said === "inf" ? Infinity : Number(said);
const found = learn(rows, digits.labels, { l1: Number(process.argv[1]), q, eta0: 1 });
console.log(JSON.stringify({ w: Array.from(found.w), b: found.intercept, rows, y: digits.labels }));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node to run JavaScript")
@pytest.mark.parametrize(
    ("rule", "q"),
    [
        ("rda", None),
        ("frda", 2),
        pytest.param("frda", 1, marks=pytest.mark.slow),
        pytest.param("frda", np.inf, marks=pytest.mark.slow),
    ],
)
def test_the_browser_learns_what_rarefy_learns(rule, q):
    l1 = 0.003
    said = {None: "null", np.inf: "inf"}.get(q, str(q))
    command = ["node", "-e", PROGRAM, str(l1), said]
    ran = subprocess.run(command, cwd=STATIC, check=True, capture_output=True, text=True)
    found = json.loads(ran.stdout)
    given = {} if q is None else {"q": q}
    model = SparseOnlineClassifier(rule, l1=l1, eta0=1.0, passes=1, shuffle=False, **given)
    model.fit(np.array(found["rows"]), found["y"])
    assert 0 < model.n_nonzero_ < 64
    np.testing.assert_allclose(model.coef_[0], found["w"], rtol=1e-9, atol=1e-9)
    assert model.intercept_[0] == pytest.approx(found["b"], abs=1e-9)
