"""What is learned, as plain functions of numbers: losses, importance, schedules, clock."""
