"""Human labels in files of pragmata: their metrics, odd ones among them, and runs compared by them."""
