"""A first run: measure every head of the demo model, and look at what came out.

python examples/01_first_run.py            # 60 windows into runs/example
python examples/01_first_run.py 12 some/folder
"""

import sys

import headscope as hs

texts = int(sys.argv[1]) if len(sys.argv) > 1 else 60
folder = sys.argv[2] if len(sys.argv) > 2 else "runs/example"

# The demo model (all-MiniLM-L6-v2: 6 layers of 12 heads) over prose of the Python reference, cut
# into windows of 128 tokens, of which `texts` are measured. A model folder or hub id of yours, and
# a file or folder of texts, go in the same places. If this is killed, the same call resumes it.
# Some of the windows also go through ten models with random weights, and are measured under every
# choice that the paper leaves open: verdicts rest on both.
run = hs.analyze("demo", "demo", texts=texts, out=folder)

# A row per layer: the measures pooled over its heads.
print(run.layers[["layer", "mean_distance", "same_sentence", "same_sentence_expected"]].round(3))

# A row per layer and head. Which heads bind repetitions of one token? A rate means something only
# against its expectation: the rate among all pairs of the same windows at the same distances.
heads = run.heads.assign(lift=lambda table: table.repetition - table.repetition_expected)
strongest = heads.sort_values("lift", ascending=False).head(5)
print(strongest[["layer", "head", "repetition", "repetition_expected"]].round(3))

# And against an untrained model: the same architecture with random weights.
untrained = run.untrained[0].heads
print(f"repetition, trained:   {heads.repetition.mean():.3f}")
print(f"repetition, untrained: {untrained.repetition.mean():.3f}")

# The paper's claims, each judged against its nulls (fewer than 20 documents answer none).
for verdict in run.claims():
    print(f"{verdict.name}: {verdict.status}")

# Labelled arrays, for figures of your own: how the pairs of layer 1 are spread over distance.
histogram = run.arrays["distance_histogram"].sel(layer=1).sum("head")
print(f"pairs of layer 1 that are neighbours: {histogram[1].item() / histogram.sum().item():.3f}")

# A row per window, layer and head, for DuckDB, pandas or Polars; here the focal tokens of head 1.1.
# The column `text` is the number of the window.
rows = run.rows().to_table(columns=["text", "layer", "head", "focal_token"]).to_pandas()
windows = run.windows().to_table(columns=["tokens", "token_ids"]).to_pylist()
for row in rows[(rows.layer == 1) & (rows["head"] == 1)].head(5).itertuples():
    window = windows[row.text]
    place = window["token_ids"].index(row.focal_token)
    print(f"window {row.text}: layer 1, head 1 gathers around {window['tokens'][place]!r}")

print("report:", run.folder / "report.html")
