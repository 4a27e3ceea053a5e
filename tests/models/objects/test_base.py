"""What all objects share: copies with other values."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from models.objects.base import ObjectMeta


@pytest.mark.parametrize("update", [{}, {"name": "b"}, {"labels": {"x": "y"}, "uid": "1"}])
@pytest.mark.parametrize("deep", [False, True])
def test_a_copy_is_as_pydantic_makes_it(update: dict[str, object], deep: bool) -> None:
    """It is equal in its values and in what was set, and the first stays as it was."""
    first = ObjectMeta(name="a", labels={"k": "v"})
    found, expected = (
        copy(first, update=update, deep=deep) for copy in (ObjectMeta.model_copy, _of_pydantic)
    )
    assert found == expected
    assert found.model_fields_set == expected.model_fields_set
    assert (found.owner_references, found.model_dump()) == (expected.owner_references, expected.model_dump())
    assert first == ObjectMeta(name="a", labels={"k": "v"})
    assert first.model_fields_set == {"name", "labels"}


def _of_pydantic(meta: ObjectMeta, *, update: dict[str, object], deep: bool) -> ObjectMeta:
    return BaseModel.model_copy(meta, update=update, deep=deep)
