"""Cut a text into sentences without any punctuation, see which heads did it, and find topics.

python examples/02_segment.py
python examples/02_segment.py some/text.txt
"""

import sys
from pathlib import Path

import headscope as hs

TEXT = (
    "good morning everyone thank you for coming today we want to talk about the new library it "
    "will open in june and it has room for two hundred people there is a café on the first floor "
    "if you have any questions please ask me after the meeting"
)

text = Path(sys.argv[1]).read_text() if len(sys.argv) > 1 else TEXT

# The demo model, with weights that come with headscope. For another model, `hs.Segmenter.fit`
# learns them from plain texts: it removes the punctuation and learns to find the boundaries.
segmenter = hs.Segmenter("demo")
scores = segmenter.boundary_scores(text)
print(f"read as {scores.mode} text: {len(scores.characters)} places where a sentence may begin")

# The pieces joined are the text: nothing is lost, not even white space.
sentences = segmenter.split(text)
assert "".join(sentences) == text
for sentence in sentences[:12]:
    print("|", sentence.strip())

# Which heads, by which signal, put the first boundary there?
explained = segmenter.explain(text)
if not explained.empty:
    first = explained[explained.boundary == explained.boundary.min()]
    heads = first[first["head"] > 0].head(5)
    print(heads[["layer", "head", "signal", "contribution"]].round(2).to_string(index=False))

# Topics of ready-made sentences: the indices at which a new one begins.
recipe = ["Chop the onions.", "Fry them in butter.", "Add the tomatoes.", "Let the sauce simmer."]
flight = ["The probe reached Mars.", "Its antenna works.", "It sends pictures of the planet."]
print("topics begin at", hs.Segmenter("demo", "topic").topics([*recipe, *flight], n_segments=2))
