"""What the changes of the same questions say: pure, exact or closed form, the same for the same data."""
