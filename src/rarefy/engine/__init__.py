"""One model that learns: the compiled loop, the state of its coordinates, the learner."""
