"""The page on architectures says what the tests' list says."""

from tests.models.families import FAMILIES
from tools.write_families import facts, facts_on_page


def test_the_table_of_the_page_is_up_to_date() -> None:
    assert facts_on_page() == [facts(family) for family in FAMILIES], (
        "run: python -m tools.write_families"
    )
