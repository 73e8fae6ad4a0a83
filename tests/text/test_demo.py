import re

from headscope.text.demo import prose_of, read_demo


def test_the_demo_corpus_is_large_enough_for_the_demo():
    # 300 windows of 128 tokens; tokens of English prose have 4.5 characters or fewer.
    documents = list(read_demo())
    assert sum(len(document.text) for document in documents) > 300 * 128 * 4.5
    assert len({document.id for document in documents}) == len(documents)


def test_demo_paragraphs_are_prose_and_occur_once():
    paragraphs = [part for document in read_demo() for part in document.text.split("\n\n")]
    assert len(set(paragraphs)) == len(paragraphs)
    for paragraph in paragraphs:
        assert not re.search(r"::=|>>>|\*\*\*|===|\n|  ", paragraph), paragraph
        assert re.match(r"[A-Z]", paragraph), paragraph
        assert re.search(r"[.!?][\"')”’]?$", paragraph), paragraph  # noqa: RUF001


def test_prose_loses_its_markup():
    block = "* A *mapping* object maps\n  the built-\n  in **values** to other objects. [1]"
    assert prose_of(block) == "A mapping object maps the built-in values to other objects."


def test_anything_but_prose_is_left_out():
    for block in [
        "Mapping Types\n*************",
        '   lambda_expr ::= "lambda" [parameter_list] ":" expression and more words here.',
        "   >>> print('This is a line of code with many words in it.')",
        "class dict(**kwargs)",
        "   def f(x, y): return {x: y, (1, 2): [3, 4]}  # Return x, y.",
        "Too short to keep.",
    ]:
        assert prose_of(block) is None
