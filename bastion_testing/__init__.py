"""What those who write a runner test it with: the suite that every runner of ours passes."""
