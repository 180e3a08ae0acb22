"""What does it cost? ``python -m tools.bench NAME`` measures one thing beside what people use today."""
