"""What messages call a rule: what the user asked for, never the name of a class."""

import pytest

from rarefy.parameters.build import make_rule
from rarefy.rules import FINITE_DATA, RULES, name_of
from rarefy.rules.anchoring import anchored
from rarefy.rules.averaging import averaged


@pytest.mark.parametrize("name", [*RULES, *FINITE_DATA])
def test_every_rule_has_the_name_by_which_it_is_chosen(name):
    made = make_rule(name)[0]
    assert name_of(made) == name
    assert name_of(averaged(made)) == f"{name}, averaged"
    assert name_of(anchored(made)) == f"{name}, anchored"


@pytest.mark.parametrize(
    ("name", "use", "called"),
    [
        ("fobos", {"cumulative": True}, "fobos, cumulative"),
        ("adagrad-rda", {"q": 2}, "adagrad-rda, q"),
        ("ogd", {"projection": "box", "radius": 1.0}, "ogd, projection='box'"),
    ],
)
def test_forms_of_a_rule_are_named_after_what_was_asked_for(name, use, called):
    assert name_of(make_rule(name, **use)[0]) == called
