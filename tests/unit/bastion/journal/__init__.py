"""Tests of the journal and the state that it folds into."""
