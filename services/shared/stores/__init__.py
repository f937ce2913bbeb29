"""Adapters of the stores: each fulfils a port of contracts.ports."""
