"""Labels that people gave: judgments, the metrics of them, agreement and intervals."""
