"""What the arms are asked: one module for each family of tasks."""
