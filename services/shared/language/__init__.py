"""Text as it is written: tokens, words, stems, spellings. Pure."""
