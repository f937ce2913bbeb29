"""Language models behind `contracts.ports.LanguageModel`."""
