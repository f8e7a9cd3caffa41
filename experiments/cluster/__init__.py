"""Learning on clusters: faults, and what it would cost on machines that are not at hand."""
