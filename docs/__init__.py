"""The pages, and the tools that keep them true."""
