"""Training: from documents to the weights of a segmenter.

In reading order: `bare_text` (without punctuation and case), `training_texts` (documents as a
segmenter meets them), `fit_weights` (all steps for sentences), `fit_boundary_net` (the network for
sentences), `fit_topic_net` (the network for topics).
"""
