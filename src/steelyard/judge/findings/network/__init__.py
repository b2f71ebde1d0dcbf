"""Rules on messages between ranks."""
