"""The decisions of the pipeline as pure functions: no bus, no clock, no store, no client library."""
