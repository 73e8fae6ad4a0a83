"""One file per corpus format: each turns a source into a stream of documents."""
