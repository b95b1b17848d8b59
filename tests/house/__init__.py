"""The house rules: who may import whom, what is pure, how long things are, what the pages say."""
