"""Balanced subsets of 20 Newsgroups, in place of the papers' ob-2-1, sb-2-1, ob-8-1 and sb-8-1.

Those are 500 posts from each of 2 or 8 groups that overlap (o) or are well separated (s), without
stop words and words of fewer than three posts. Which groups and posts is not known, so several
subsets are drawn, each from other groups.
"""

from functools import cache

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from experiments.data import Labelled, newsgroups, vocabulary

POSTS_PER_GROUP = 500
FEWEST_POSTS = 3  # in which a word has to occur
COMPUTERS = ("comp.graphics", "comp.os.ms-windows.misc", "comp.sys.ibm.pc.hardware",
             "comp.sys.mac.hardware")  # fmt: skip
RECREATION = ("rec.autos", "rec.motorcycles", "rec.sport.baseball", "rec.sport.hockey")
SCIENCE = ("sci.crypt", "sci.electronics", "sci.med", "sci.space")
SOCIETY = ("soc.religion.christian", "talk.politics.guns", "talk.politics.mideast",
           "talk.politics.misc")  # fmt: skip

DRAWS = {
    "ob-2": (
        ("comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware"),
        ("comp.graphics", "comp.windows.x"),
        ("rec.autos", "rec.motorcycles"),
        ("rec.sport.baseball", "rec.sport.hockey"),
        ("talk.politics.guns", "talk.politics.misc"),
    ),
    "sb-2": (
        ("rec.autos", "sci.space"),
        ("comp.graphics", "talk.politics.mideast"),
        ("rec.sport.hockey", "sci.med"),
        ("misc.forsale", "soc.religion.christian"),
        ("comp.windows.x", "talk.politics.guns"),
    ),
    "ob-8": (COMPUTERS + RECREATION, SCIENCE + SOCIETY, COMPUTERS + SOCIETY),
    "sb-8": (
        ("comp.graphics", "misc.forsale", "rec.autos", "rec.sport.hockey", "sci.med", "sci.space",
         "soc.religion.christian", "talk.politics.mideast"),
        ("alt.atheism", "comp.windows.x", "misc.forsale", "rec.motorcycles", "rec.sport.baseball",
         "sci.crypt", "sci.electronics", "talk.politics.guns"),
        ("comp.sys.mac.hardware", "misc.forsale", "rec.autos", "rec.sport.hockey", "sci.crypt",
         "sci.med", "soc.religion.christian", "talk.politics.misc"),
    ),
}  # fmt: skip


@cache
def all_posts() -> Labelled:
    """Counts of words that are not stop words."""
    X, groups = newsgroups()
    words = vocabulary("20newsgroups", "vocab.xz")
    kept = [number for number, word in enumerate(words) if word not in ENGLISH_STOP_WORDS]
    return sparse.csr_array(X[:, kept]), groups


def subset(posts: Labelled, groups: tuple[str, ...], n_each: int, seed: int) -> Labelled:
    """As many posts from each group, in random order, with the words that occur in enough."""
    X, group_of = posts
    random = np.random.default_rng(seed)
    of_groups = [np.flatnonzero(group_of == group) for group in groups]
    chosen = np.concatenate([random.choice(of, n_each, replace=False) for of in of_groups])
    chosen = random.permutation(chosen)
    rows = sparse.csr_array(X[chosen])
    n_posts = np.bincount(rows.indices, minlength=rows.shape[1])
    return rows[:, n_posts >= FEWEST_POSTS], group_of[chosen]


def draw(name: str, number: int) -> Labelled:
    return subset(all_posts(), DRAWS[name][number], POSTS_PER_GROUP, seed=number)
