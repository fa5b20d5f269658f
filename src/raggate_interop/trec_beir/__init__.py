"""TREC and BEIR files, and golden sets of graded judgements."""
