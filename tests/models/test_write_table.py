"""The page on architectures says what the tests' list says."""

from tests.models.families import FAMILIES
from tests.models.write_table import facts, facts_on_page


def test_the_table_of_the_page_is_up_to_date() -> None:
    assert facts_on_page() == [facts(family) for family in FAMILIES], (
        "run: python -m tests.models.write_table"
    )
