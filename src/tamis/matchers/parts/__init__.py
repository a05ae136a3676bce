"""What the algorithms of the papers are made of, so that each file one door up is its paper's idea and little else."""
