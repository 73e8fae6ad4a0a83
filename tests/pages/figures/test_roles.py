"""The role map."""

import pandas as pd
from matplotlib.colors import to_rgba

from headscope.findings.roles import ROLES
from headscope.pages.figures.roles import roles_figure


def test_every_role_has_a_letter_and_a_colour_of_its_own():
    assert len({role.letter for role in ROLES}) == len(ROLES)
    assert len({role.colour for role in ROLES}) == len(ROLES)


def test_cells_have_the_colour_and_letter_of_their_strongest_trait_and_a_mark_for_more(source):
    table = pd.DataFrame(
        {
            "layer": [2, 2, 5, 5],
            "head": [1, 2, 1, 2],
            "role": ["local", "separator", "none", "repetition"],
            "others": ["", "repetition, common-token", "", ""],
        }
    )
    panel = roles_figure(table, source).axes[0]
    (image,) = panel.get_images()
    assert tuple(image.get_array()[1, 0]) == to_rgba(ROLES["none"].colour)
    letters = {text.get_position(): text.get_text() for text in panel.texts}
    assert letters == {(1, 1): "L", (2, 1): "P+", (1, 2): "N", (2, 2): "R"}
    assert [label.get_text() for label in panel.get_yticklabels()] == ["2", "5"]


def test_the_legend_counts_the_heads_of_each_role(source):
    roles = ["local", "local", "none"]
    table = pd.DataFrame({"layer": 1, "head": [1, 2, 3], "role": roles, "others": ""})
    (legend,) = roles_figure(table, source).legends
    assert [t.get_text() for t in legend.get_texts()] == ["L  local (2)", "N  no clear role (1)"]
