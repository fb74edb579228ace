// Compiled with the headers that others reuse.
