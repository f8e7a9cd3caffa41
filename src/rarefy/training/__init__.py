"""The one training procedure: read and learn, settle, refit, save; for Python and the command."""
