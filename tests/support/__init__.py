"""What tests share: none of this is a test."""
