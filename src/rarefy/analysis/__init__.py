"""What models say: explained predictions, differences and flips between two models."""
