"""The API under test: brought up, asked, torn down."""
