"""Label selectors and node selector terms match as the API documentation says."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from models.objects.affinity import PreferredSchedulingTerm
from models.objects.selectors import LabelSelector, NodeSelector, NodeSelectorTerm

LABELS = {"app": "web", "tier": "front", "size": "10", "bad": "ten"}
KEYS = st.sampled_from(["app", "tier", "none"])
VALUES = st.lists(st.sampled_from(["web", "front", "x"]), min_size=1, max_size=3)
EXPRESSIONS = st.lists(
    st.one_of(
        st.builds(
            lambda key, operator, values: {"key": key, "operator": operator, "values": values},
            KEYS,
            st.sampled_from(["In", "NotIn"]),
            VALUES,
        ),
        st.builds(
            lambda key, operator: {"key": key, "operator": operator},
            KEYS,
            st.sampled_from(["Exists", "DoesNotExist"]),
        ),
    ),
    max_size=3,
)


@pytest.mark.parametrize(
    ("key", "operator", "values", "matches"),
    [
        ("app", "In", ["web", "db"], True),
        ("app", "In", ["db"], False),
        ("gone", "In", ["web"], False),
        ("app", "NotIn", ["db"], True),
        ("app", "NotIn", ["web"], False),
        ("gone", "NotIn", ["web"], True),
        ("app", "Exists", [], True),
        ("gone", "Exists", [], False),
        ("app", "DoesNotExist", [], False),
        ("gone", "DoesNotExist", [], True),
        ("size", "Gt", ["9"], True),
        ("size", "Gt", ["10"], False),
        ("size", "Lt", ["11"], True),
        ("size", "Lt", ["9"], False),
        ("bad", "Gt", ["9"], False),
        ("gone", "Lt", ["9"], False),
        ("size", "Gt", ["one"], False),
        ("size", "Lt", ["9" * 30], False),
    ],
)
def test_operators(key: str, operator: str, values: list[str], matches: bool) -> None:
    """Each operator on a label that is there, one that is not, and one that is no number."""
    expression = {"key": key, "operator": operator, "values": values}
    term = NodeSelectorTerm.model_validate({"matchExpressions": [expression]})
    assert term.matches(LABELS, "n1") is matches
    if operator not in {"Gt", "Lt"}:
        selector = LabelSelector.model_validate({"matchExpressions": [expression]})
        assert selector.matches(LABELS) is matches


@pytest.mark.parametrize(
    "expression",
    [
        {"key": "a", "operator": "Foo"},
        {"key": "a", "operator": "In"},
        {"key": "a", "operator": "NotIn", "values": []},
        {"key": "a", "operator": "Exists", "values": ["x"]},
        {"key": "a", "operator": "DoesNotExist", "values": ["x"]},
        {"key": "a", "operator": "Gt", "values": ["1", "2"]},
        {"key": "a", "operator": "Lt"},
        {"key": "a", "operator": "In", "values": ["___@#$%^"]},
        {"key": "a", "operator": "In", "values": ["v" * 64]},
        {"key": "", "operator": "Exists"},
        {"key": "no/two/slashes", "operator": "Exists"},
        {"operator": "Exists"},
    ],
)
def test_bad_requirements(expression: dict[str, Any]) -> None:
    """An operator with the wrong number or kind of values is refused, as by the API server."""
    with pytest.raises(ValidationError):
        NodeSelector.model_validate({"nodeSelectorTerms": [{"matchExpressions": [expression]}]})


@pytest.mark.parametrize(
    ("operator", "value"), [("Gt", "-3"), ("Lt", "one"), ("In", "v" * 64), ("NotIn", "___@")]
)
def test_a_preferred_term_may_have_any_value(operator: str, value: str) -> None:
    """What went wrong: a cluster with such a pod, which the API server takes, could not be read."""
    preference = {"matchExpressions": [{"key": "a", "operator": operator, "values": [value]}]}
    term = PreferredSchedulingTerm.model_validate({"weight": 1, "preference": preference})
    assert term.preference.match_expressions[0].values == (value,)


@pytest.mark.parametrize(
    "field",
    [
        {"key": "metadata.labels", "operator": "In", "values": ["n1"]},
        {"key": "metadata.name", "operator": "Exists"},
        {"key": "metadata.name", "operator": "In", "values": ["n1", "n2"]},
    ],
)
def test_bad_fields(field: dict[str, Any]) -> None:
    """The only field is metadata.name, with In or NotIn and one value."""
    with pytest.raises(ValidationError, match="matchFields"):
        NodeSelectorTerm.model_validate({"matchFields": [field]})


def test_terms_are_alternatives_and_an_empty_one_matches_nothing() -> None:
    """A node selector is satisfied by any of its terms; no condition at all is no match."""
    by_name = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
    selector = NodeSelector.model_validate({"nodeSelectorTerms": [{}, by_name]})
    assert selector.matches({}, "n1")
    assert not selector.matches({}, "n2")


def test_a_node_selector_needs_a_term() -> None:
    """An empty list of terms is refused, as by the API server."""
    with pytest.raises(ValidationError, match="at least one term"):
        NodeSelector.model_validate({"nodeSelectorTerms": []})


def test_an_empty_label_selector_selects_everything() -> None:
    """No condition means every object, also one without labels."""
    selector = LabelSelector()
    assert selector.empty
    assert selector.matches({})
    assert selector.requirements == ()


@given(EXPRESSIONS, st.dictionaries(KEYS, st.sampled_from(["web", "front"])))
def test_all_requirements_must_hold(expressions: list[dict[str, Any]], labels: dict[str, str]) -> None:
    """A selector matches exactly when each of its requirements does."""
    selector = LabelSelector.model_validate({"matchExpressions": expressions})
    one_by_one = [
        LabelSelector.model_validate({"matchExpressions": [item]}).matches(labels) for item in expressions
    ]
    assert selector.matches(labels) is all(one_by_one)


@given(EXPRESSIONS, st.randoms())
def test_requirements_are_an_identity(expressions: list[dict[str, Any]], random: Any) -> None:
    """Neither order nor repetition changes the canonical requirements, and they are hashable."""
    shuffled = [*expressions, *expressions]
    random.shuffle(shuffled)
    one = LabelSelector.model_validate({"matchExpressions": expressions})
    other = LabelSelector.model_validate({"matchExpressions": shuffled})
    assert one.requirements == other.requirements
    assert hash(one.requirements) == hash(other.requirements)


def test_match_labels_are_in_with_one_value() -> None:
    """Both spellings of the same condition have the same requirements."""
    plain = LabelSelector(match_labels={"app": "web"})
    spelled = LabelSelector.model_validate(
        {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}
    )
    assert plain.requirements == spelled.requirements == (("app", "In", ("web",)),)
