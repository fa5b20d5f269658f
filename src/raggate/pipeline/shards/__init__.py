"""A run in parts: the plan, what a shard asks and leaves, and the merge of them."""
